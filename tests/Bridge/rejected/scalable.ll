; a vector of pointers without a fixed length has no translation
define <vscale x 2 x i64> @gather(<vscale x 2 x ptr> %from, <vscale x 2 x i1> %mask) {
  %value = call <vscale x 2 x i64> @llvm.masked.gather.nxv2i64.nxv2p0(<vscale x 2 x ptr> %from, i32 8, <vscale x 2 x i1> %mask, <vscale x 2 x i64> zeroinitializer)
  ret <vscale x 2 x i64> %value
}
declare <vscale x 2 x i64> @llvm.masked.gather.nxv2i64.nxv2p0(<vscale x 2 x ptr>, i32, <vscale x 2 x i1>, <vscale x 2 x i64>)
