#include <metal_stdlib>
using namespace metal;
struct wrong_closure {
  device float *v0;
};
[[kernel]] void wrong(constant wrong_closure &closure [[buffer(0)]],
                      threadgroup uchar *shared_memory [[threadgroup(0)]]) {
  device float *v1 = (device float *)(shared_memory + 4);
  threadgroup float *v2 = closure.v0;
  const double v3 = v1[0];
}
