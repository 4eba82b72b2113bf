package helper

// The numbers that differ between the architectures.
const (
	sysMemfdCreate = 319
	sysExecveat    = 322
)
