# Reset entry of every core: floating point and vectors on, a stack, test_main(core). When core 0 is back it ends the
# run with the value that test_main returned there; the other cores park.
    .section .text.start, "ax"
    .globl _start
_start:
    la t0, unexpected
    csrw mtvec, t0
    li t0, 0x6600
    csrs mstatus, t0
    csrr a0, 0x424
    la sp, stack_top
    slli t0, a0, 14
    sub sp, sp, t0
    call test_main
    csrr t0, 0x424
    bnez t0, park
finish:
    la t0, tohost
    sw zero, 4(t0)
    sw a0, 0(t0)
park:
    j park
    .balign 4
unexpected:
    la t0, trap_info
    csrr t1, mcause
    sw t1, 0(t0)
    csrr t1, mtval
    sw t1, 4(t0)
    csrr t1, mepc
    sw t1, 8(t0)
    li a0, 1337
    j finish

    .bss
    .balign 64
    .globl tohost
tohost: .space 64
    .globl trap_info
trap_info: .space 16
    .space 8 * 16384
stack_top:
