package helper

// The file system rights of Landlock, as include/uapi/linux/landlock.h numbers
// them.
const (
	LandlockExecute uint64 = 1 << iota
	LandlockWriteFile
	LandlockReadFile
	LandlockReadDir
	LandlockRemoveDir
	LandlockRemoveFile
	LandlockMakeChar
	LandlockMakeDir
	LandlockMakeReg
	LandlockMakeSock
	LandlockMakeFifo
	LandlockMakeBlock
	LandlockMakeSym
	LandlockRefer
	LandlockTruncate
	LandlockIoctlDev
)

// LandlockFile is the rights that apply to a file; the others are for
// directories.
const LandlockFile = LandlockExecute | LandlockWriteFile | LandlockReadFile | LandlockTruncate | LandlockIoctlDev

// The network rights and the scopes.
const (
	LandlockBindTCP      uint64 = 1 << 0
	LandlockConnectTCP   uint64 = 1 << 1
	LandlockAbstractUnix uint64 = 1 << 0
	LandlockSignal       uint64 = 1 << 1
)
