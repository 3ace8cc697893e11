#include "schedules/rung.h"

namespace nestsmith {

const std::vector<Tutorial> &builtin_tutorials() {
  static const std::vector<Tutorial> tutorials = {
      {"ladder", "from one thread per element to asynchronous copies",
       "nestsmith; the best rungs of the other tutorials, and two of our own",
       "what each step of a fast product gains, and which unit of the GPU limits it next",
       "tensor, with matrix units; fast, with schedules to search"},
      {"deep_dive", "GEMM deep dive, part 1",
       "moonull-ptr's post of 2025-10-26 (in Korean), measured on an RTX 5090",
       "coalescing, tiles in shared memory, and several results per thread; the loads are counted for each "
       "technique",
       "worklog/5 and worklog/6: results in two dimensions, and 128-bit accesses; ladder, the same way to its "
       "end"},
      {"transposed", "matrix multiplication with CUDA: C += A*B'",
       "coconut99's post of 2025-05-28 (in Korean), measured on an RTX 3090",
       "both operands are read along k: register tiles, 128-bit accesses, two buffers, and what they cost in "
       "occupancy",
       "worklog/10, with warp tiles; tensor, with tensor cores: the two steps that the post announces"},
      {"tiling", "naive against shared tiling",
       "a post of the blog GPU-KERNEL (in Korean), which does not name its GPU",
       "one 32 x 32 tile in shared memory, and guards for shapes that the tile does not divide",
       "deep_dive: the same two kernels with the loads counted, and several results per thread"},
      {"tvm_steps", "matrix multiplication with TVM, steps 1 to 6",
       "kimm240's series on TensorIR (in Korean), measured on an RTX A500 laptop",
       "the same schedule directive by directive, from two bound loops to a software pipeline",
       "worklog, with larger tiles for the same techniques; fast, where the sizes of the tiles are knobs",
       "https://github.com/kimm240/matrix-multiplication-optimization-with-tvm"},
      {"principles", "how GPUs perform", "an article of 2025-06-18 (in Korean), which reasons about an A100",
       "intensity and the roofline, bank conflicts and their cures, divergence, fusion, and the overhead of "
       "launches; there are kernels "
       "for each topic",
       "tensor: lower precision and tensor cores, as the article recommends"},
      {"gemm", "forms of a product", "nestsmith",
       "operands stored transposed, a batch of products, and a bias with relu in the same kernel",
       "tensor: the same products by matrix units; fast, with schedules to search"},
      {"worklog", "CUDA matrix multiplication, kernels 1 to 10", "S. Boehm's worklog, measured on an A6000",
       "the way from a naive kernel to one near cuBLAS, with the tile sizes of the worklog",
       "ladder/prefetch and ladder/async: two buffers, and asynchronous copies; fast/best, tuned",
       "https://siboehm.com/articles/22/CUDA-MMM"},
      {"tensor", "products by matrix units", "nestsmith",
       "fragments in the lanes of a warp, ldmatrix, swizzled tiles, and asynchronous copies in several stages",
       "tune tensor/tuned, which searches its knobs for a GPU and a shape"},
      {"reduce", "the sum of a vector", "nestsmith, after M. Harris, Optimizing Parallel Reduction in CUDA",
       "one reduction by all threads of a GPU: through shared memory, by shuffles, and in one kernel, whose "
       "last "
       "block adds the sums of the others",
       "softmax, whose rows are reduced in the same way; principles/one_launch, on what a kernel costs"},
      {"transpose", "the transpose of a matrix", "nestsmith",
       "a tile in shared memory, so that loads and stores are coalesced; bank conflicts, and their cures by "
       "padding "
       "and by a permutation",
       "principles/transposed, where the operand of a product has these conflicts; tensor/swizzled"},
      {"gemv", "the product of a matrix and a vector", "nestsmith",
       "a kernel that reads each element of a matrix once: one thread and one warp per row, 16 bytes at a "
       "time, "
       "and the vector in registers for several rows; few rows are divided among blocks",
       "reduce, on the last block; softmax; ladder, where elements are used again"},
      {"stencil", "a stencil of 3 x 3 elements", "nestsmith",
       "a kernel that reads each element 9 times: caches serve most of these reads, so shared memory gains "
       "nothing; registers do, and so do two steps in one kernel",
       "principles/fused, on bytes that fusion saves; transpose, where shared memory does gain"},
      {"conv", "a convolution of images by 3 x 3 filters", "nestsmith",
       "pixels with their halo and filters in shared memory, and several pixels and channels per thread; with "
       "matrix units, the convolution is a product of matrices that is never stored",
       "tensor, on matrix units; stencil, with one channel"},
      {"softmax", "softmax of rows", "nestsmith",
       "reductions across threads: by one thread, by the lanes of a warp, and by the warps of a block; "
       "rows in registers; and two results from one pass over a row that is too long for them",
       "principles/fused, on bytes that fusion saves; the guide, on reductions of your own"},
      {"layernorm", "layer norm of rows", "nestsmith",
       "the same steps for a mean and a variance, from one pass by Welford's method, and from a row in "
       "registers",
       "rmsnorm; softmax, on the reductions"},
      {"rmsnorm", "RMS norm of rows", "nestsmith", "the same steps for a mean square",
       "tune rmsnorm/registers, which searches the threads of a row"},
      {"fast", "schedules to tune", "nestsmith",
       "the choices of a product, as knobs: the best values depend on the GPU and on the shape",
       "tune fast/gemm, which searches them; tensor, where matrix units compute the products"},
      {"hopper", "the units of Hopper", "nestsmith",
       "a grid of as many blocks as the GPU holds, each of which computes tiles in waves; the last wave is "
       "partial; warps of their own that fill the tiles; matrix units that read their tiles themselves; "
       "one thread that copies whole tiles; results that are written in whole rows, also in 2 bytes; and "
       "blocks that copy tiles for each other",
       "fast/best, the same tiles with one block for each"},
  };
  return tutorials;
}

} // namespace nestsmith
