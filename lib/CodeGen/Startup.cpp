#include "CodeGen/CodeGen.h"
#include "llvm/Support/raw_ostream.h"

namespace tensorturbo::codegen {

// Reset entry of all cores, before and after the choice of the segment.
static const char *const entryText = R"(
    .option push
    .option norelax
    .section .text.start,"ax",@progbits
    .globl _start
    .type _start,@function
_start:
    la t0, tt_trap
    csrw mtvec, t0
    li t0, 0x6600
    csrs mstatus, t0
    csrr a0, 0x424
    la sp, tt_stack_top
    slli t0, a0, 14
    sub sp, sp, t0
    call tt_main
    csrr t0, 0x424
    bnez t0, tt_park
    li t1, 1
tt_exit:
    la t0, tohost
    sw t1, 0(t0)
    sw zero, 4(t0)
tt_park:
    j tt_park
    .size _start, . - _start
    .balign 4
    .globl tt_trap
    .type tt_trap,@function
tt_trap:
    la t0, tt_trap_info
    csrr t1, mcause
    sw t1, 0(t0)
    csrr t1, mtval
    sw t1, 4(t0)
    csrr t1, mepc
    sw t1, 8(t0)
    csrr t1, 0x424
    sw t1, 12(t0)
    li t1, 1337
    j tt_exit
    .size tt_trap, . - tt_trap
    .globl tt_main
    .type tt_main,@function
tt_main:
    addi sp, sp, -16
    sw ra, 12(sp)
    la t0, tt_segment
    lw t0, 0(t0)
)";

static const char *const dataText = R"(    ebreak
tt_main_return:
    lw ra, 12(sp)
    addi sp, sp, 16
    ret
    .size tt_main, . - tt_main
    .option pop
    .section .tohost,"aw",@progbits
    .balign 64
    .globl tohost
    .type tohost,@object
    .size tohost, 8
tohost:
    .8byte 0
    .balign 64
    .globl fromhost
    .type fromhost,@object
    .size fromhost, 8
fromhost:
    .8byte 0
    .balign 64
    .globl tt_segment
    .type tt_segment,@object
    .size tt_segment, 4
tt_segment:
    .4byte 0
    .section .bss.tt_stack,"aw",@nobits
    .balign 64
    .globl tt_trap_info
    .type tt_trap_info,@object
    .size tt_trap_info, 16
tt_trap_info:
    .space 64
    .space 131072
tt_stack_top:
    .text
)";

std::string startupAssembly(const std::vector<KernelList> &segments) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << entryText;
  for (size_t i = 0; i < segments.size(); ++i) {
    out << "    li t1, " << i << "\n    bne t0, t1, tt_segment_" << i << "_end\n";
    // A barrier after every kernel: the next one may use the same shared memory.
    for (const std::string &kernel : segments[i])
      out << "    call " << kernel << "\n    .4byte 0x3800007b\n";
    out << "    j tt_main_return\ntt_segment_" << i << "_end:\n";
  }
  out << dataText;
  return text;
}

} // namespace tensorturbo::codegen
