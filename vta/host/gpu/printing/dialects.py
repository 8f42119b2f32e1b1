"""The two languages that kernels for GPUs are printed in, as far as they differ."""

from __future__ import annotations

from collections.abc import Mapping

from vta.support.dataclass import dataclass

__all__ = ["CUDA", "DIALECTS", "OPENCL", "Dialect"]


@dataclass(frozen=True)
class Dialect:
    """What one language calls what both have."""

    name: str
    types: Mapping[str, str]
    """Of values in registers, by NumPy's names."""
    kernel: str
    """What a function begins with; it takes the number of threads in a block."""
    pointer: str
    """A parameter: takes what is read only, the type, and the name."""
    shared: str
    barrier: str
    threads: Mapping[str, str]
    """Expressions of the indices of a grid."""
    helper: str
    """What a function begins with that kernels call."""
    bits: str
    """A float's pattern as an int."""
    unbits: str
    vector_copy: str
    """Copies some neighbours: takes their number, their type, where to and where from."""
    bytes_type: str
    """Of four bytes."""
    bytes_joined: str
    """Four bytes of their values."""
    bytes_store: str
    """Stores four bytes: takes where to and what."""
    tensor: bool
    """Whether it can say that threads multiply matrices of bytes together."""
    preamble: str
    """What the operations on half floats and bytes are called by."""

    def memory_type(self, dtype: str) -> str:
        """The type of an array's elements: bool is a byte, and half floats are their patterns."""
        return {"bool": self.types["uint8"], "float16": self.types["uint16"]}.get(dtype, self.types[dtype])


_TYPES = {
    "bool": "bool", "int8": "char", "uint8": "uchar", "int16": "short", "uint16": "ushort", "int32": "int", "int64": "long",
    "float16": "float", "float32": "float", "float64": "double",
}  # fmt: skip

OPENCL = Dialect(
    name="opencl",
    types=_TYPES,
    kernel="__kernel __attribute__((reqd_work_group_size({x}, {y}, {z}))) void",
    pointer="__global {const}{type} *restrict {name}",
    shared="__local",
    barrier="barrier(CLK_LOCAL_MEM_FENCE);",
    threads={
        **{f"blockIdx.{axis}": f"(int)get_group_id({at})" for at, axis in enumerate("xyz")},
        **{f"threadIdx.{axis}": f"(int)get_local_id({at})" for at, axis in enumerate("xyz")},
    },
    helper="static inline",
    bits="as_int",
    unbits="as_float",
    vector_copy="vstore{count}(vload{count}(0, {source}), 0, {target});",
    bytes_type="char4",
    bytes_joined="(char4)({values})",
    bytes_store="vstore4({value}, 0, {target});",
    tensor=False,
    preamble="""\
#pragma OPENCL FP_CONTRACT OFF
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
static inline float half_value(ushort bits) { return vload_half(0, (const __private half *)&bits); }
static inline ushort half_bits(float value) { ushort bits; vstore_half(value, 0, (__private half *)&bits); return bits; }
#ifdef __opencl_c_integer_dot_product_input_4x8bit
#define dot4(left, right, total) ((total) + dot(left, right))
#else
static inline int dot4(char4 left, char4 right, int total)
{
  return total + left.x * right.x + left.y * right.y + left.z * right.z + left.w * right.w;
}
#endif
#define four_bytes(place) vload4(0, place)
#define DOUBLE_TO_BITS(value) as_long(value)
#define DOUBLE_FROM_BITS(value) as_double(value)
""",
)

CUDA = Dialect(
    name="cuda",
    types={**_TYPES, "int8": "signed char", "uint8": "unsigned char", "uint16": "unsigned short", "int64": "long"},
    kernel='extern "C" __global__ void __launch_bounds__({threads})',
    pointer="{const}{type} *__restrict__ {name}",
    shared="__shared__ __align__(16)",
    barrier="__syncthreads();",
    threads={name: f"(int){name}" for name in (*(f"blockIdx.{a}" for a in "xyz"), *(f"threadIdx.{a}" for a in "xyz"))},
    helper="static __device__ __forceinline__",
    bits="__float_as_int",
    unbits="__int_as_float",
    vector_copy="*({type}{count} *)({target}) = *(const {type}{count} *)({source});",
    bytes_type="int",
    bytes_joined="joined_bytes({values})",
    bytes_store="*(int *)({target}) = {value};",
    tensor=True,
    preamble="""\
typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned short ushort;
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fc00000)
#define DOUBLE_TO_BITS(value) __double_as_longlong(value)
#define DOUBLE_FROM_BITS(value) __longlong_as_double(value)
static __device__ __forceinline__ float half_value(ushort bits)
{
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
static __device__ __forceinline__ ushort half_bits(float value)
{
  ushort bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
#define dot4(left, right, total) __dp4a(left, right, total)
#define four_bytes(place) (*(const int *)(place))
#define eight_bytes(place) (*(const int2 *)(place))
static __device__ __forceinline__ int joined_bytes(int one, int two, int three, int four)
{
  return __byte_perm(__byte_perm(one, two, 0x0040), __byte_perm(three, four, 0x0040), 0x5410);
}
#if __CUDA_ARCH__ >= 800
static __device__ __forceinline__ void add_matrix_product(
  int &c0, int &c1, int &c2, int &c3, int a0, int a1, int a2, int a3, int b0, int b1)
{
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
    : "+r"(c0), "+r"(c1), "+r"(c2), "+r"(c3) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
#elif __CUDA_ARCH__ >= 750
static __device__ __forceinline__ void add_small_product(int &c0, int &c1, int a, int b)
{
  asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
    : "+r"(c0), "+r"(c1) : "r"(a), "r"(b));
}
static __device__ __forceinline__ void add_matrix_product(
  int &c0, int &c1, int &c2, int &c3, int a0, int a1, int a2, int a3, int b0, int b1)
{
  add_small_product(c0, c1, a0, b0);
  add_small_product(c2, c3, a1, b0);
  add_small_product(c0, c1, a2, b1);
  add_small_product(c2, c3, a3, b1);
}
#endif
""",
)

DIALECTS = {item.name: item for item in (OPENCL, CUDA)}
"""By the kind of device."""
