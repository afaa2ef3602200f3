// @loss has no output: the derivation cannot begin.
hone.block @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = hone.add %x, %x : tensor<?x4xf32>
  hone.return %y : tensor<?x4xf32>
}
hone.entry @loss(%h: tensor<?x4xf32>) {
  %x = hone.call @b "" (%h) : (tensor<?x4xf32>) -> tensor<?x4xf32>
}
