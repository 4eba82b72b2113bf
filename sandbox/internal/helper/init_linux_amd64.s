#include "textflag.h"

// func initAddress() *byte
TEXT ·initAddress(SB), NOSPLIT, $0-8
	LEAQ ·initEntry(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// initEntry is the whole program of an init; see init_linux.go. The kernel begins
// it with the number of arguments and the pointers to them on the stack. It uses
// no address of its own, so that it runs wherever it is copied to.
TEXT ·initEntry(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ 16(SP), SI           // the second argument: the program's number
	XORL R12, R12
digit:
	MOVBLZX (SI), AX
	TESTL AX, AX
	JEQ ready
	IMULL $10, R12
	LEAL -48(R12)(AX*1), R12
	INCQ SI
	JMP digit
ready:
	MOVL $157, AX             // prctl(PR_SET_DUMPABLE, 0)
	MOVL $4, DI
	XORL SI, SI
	SYSCALL
wait:
	MOVL $61, AX              // wait4(-1, SP, __WALL, 0)
	MOVQ $-1, DI
	MOVQ SP, SI
	MOVL $0x40000000, DX
	XORL R10, R10
	SYSCALL
	CMPQ AX, $-4              // EINTR
	JEQ wait
	CMPQ AX, $0
	JLT lost
	CMPL AX, R12
	JNE wait
	MOVL (SP), AX
	MOVL AX, DI
	ANDL $0x7f, DI            // the signal that ended it
	JNE signalled
	SHRL $8, AX
	ANDL $0xff, AX
	MOVL AX, DI
	JMP exit
signalled:
	ADDL $128, DI
	JMP exit
lost:
	MOVL $125, DI
exit:
	MOVL $231, AX             // exit_group
	SYSCALL
	JMP exit
