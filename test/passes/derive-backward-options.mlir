// RUN: hone-opt %s --verify-diagnostics --hone-derive-backward="residuals=half"

// An unknown policy is an error that lists the known ones.
// expected-error @+1 {{expects residuals to be one of mesp, store-h, mebp, narrow, products, full; the last three also with -bfloat16, or POLICY*LAYERS+POLICY*LAYERS, but got 'half'}}
module @residuals_is_a_policy {
}
