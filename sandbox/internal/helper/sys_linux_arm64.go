package helper

// The numbers that differ between the architectures.
const (
	sysMemfdCreate = 279
	sysExecveat    = 281
)
