#include "textflag.h"

// func initAddress() *byte
TEXT ·initAddress(SB), NOSPLIT, $0-8
	MOVD $·initEntry(SB), R0
	MOVD R0, ret+0(FP)
	RET

// initEntry is the whole program of an init; see init_linux.go. The kernel begins
// it with the number of arguments and the pointers to them on the stack. It uses
// no address of its own, so that it runs wherever it is copied to.
TEXT ·initEntry(SB), NOSPLIT|NOFRAME, $0-0
	MOVD 16(RSP), R1          // the second argument: the program's number
	MOVD $0, R19
	MOVD $10, R20
digit:
	MOVBU (R1), R0
	CBZW R0, ready
	MULW R20, R19, R19
	SUBW $48, R0, R0
	ADDW R0, R19, R19
	ADD $1, R1, R1
	B digit
ready:
	MOVD $167, R8             // prctl(PR_SET_DUMPABLE, 0)
	MOVD $4, R0
	MOVD $0, R1
	SVC
wait:
	MOVD $260, R8             // wait4(-1, RSP, __WALL, 0)
	MOVD $-1, R0
	MOVD RSP, R1
	MOVD $0x40000000, R2
	MOVD $0, R3
	SVC
	CMP $-4, R0               // EINTR
	BEQ wait
	CMP $0, R0
	BLT lost
	CMPW R19, R0
	BNE wait
	MOVWU (RSP), R1
	ANDW $0x7f, R1, R0        // the signal that ended it
	CBNZW R0, signalled
	LSRW $8, R1, R0
	ANDW $0xff, R0, R0
	B exit
signalled:
	ADDW $128, R0, R0
	B exit
lost:
	MOVD $125, R0
exit:
	MOVD $94, R8              // exit_group
	SVC
	B exit
