package guest

import (
	"unsafe"

	"github.com/sallyport/sallyport/internal/plugin/wire"
)

//go:wasmimport sallyport fs_abs
//go:noescape
func hostAbs(at unsafe.Pointer, length uint32) uint32

//go:wasmimport sallyport fs_read
//go:noescape
func hostReadFile(at unsafe.Pointer, length uint32) uint32

//go:wasmimport sallyport fs_stat
//go:noescape
func hostStat(at unsafe.Pointer, length uint32) uint32

//go:wasmimport sallyport fs_list
//go:noescape
func hostList(at unsafe.Pointer, length uint32) uint32

//go:wasmimport sallyport fs_write
//go:noescape
func hostWriteFile(at unsafe.Pointer, length uint32) uint32

//go:wasmimport sallyport fs_mkdir
//go:noescape
func hostMakeDir(at unsafe.Pointer, length uint32) uint32

//go:wasmimport sallyport fs_update
//go:noescape
func hostUpdate(at unsafe.Pointer, length uint32) uint32

//go:wasmimport sallyport fs_commit
//go:noescape
func hostCommit(at unsafe.Pointer, length uint32) uint32

//go:wasmimport sallyport http
//go:noescape
func hostHTTP(at unsafe.Pointer, length uint32) uint32

//go:wasmimport sallyport secret
//go:noescape
func hostSecret(at unsafe.Pointer, length uint32) uint32

//go:wasmimport sallyport kv_get
//go:noescape
func hostGet(at unsafe.Pointer, length uint32) uint32

//go:wasmimport sallyport kv_set
//go:noescape
func hostSet(at unsafe.Pointer, length uint32) uint32

//go:wasmimport sallyport kv_delete
//go:noescape
func hostDelete(at unsafe.Pointer, length uint32) uint32

//go:wasmimport sallyport kv_list
//go:noescape
func hostKeys(at unsafe.Pointer, length uint32) uint32

//go:wasmimport sallyport attachments_list
//go:noescape
func hostAttachments(at unsafe.Pointer, length uint32) uint32

//go:wasmimport sallyport attachments_read
//go:noescape
func hostAttachment(at unsafe.Pointer, length uint32) uint32

//go:wasmimport sallyport progress
//go:noescape
func hostProgress(at unsafe.Pointer, length uint32) uint32

// imported are the functions of the accessors.
var imported = map[string]func(at unsafe.Pointer, length uint32) uint32{
	wire.FuncAbs:         hostAbs,
	wire.FuncReadFile:    hostReadFile,
	wire.FuncStat:        hostStat,
	wire.FuncList:        hostList,
	wire.FuncWriteFile:   hostWriteFile,
	wire.FuncMakeDir:     hostMakeDir,
	wire.FuncUpdate:      hostUpdate,
	wire.FuncCommit:      hostCommit,
	wire.FuncHTTP:        hostHTTP,
	wire.FuncSecret:      hostSecret,
	wire.FuncGet:         hostGet,
	wire.FuncSet:         hostSet,
	wire.FuncDelete:      hostDelete,
	wire.FuncKeys:        hostKeys,
	wire.FuncAttachments: hostAttachments,
	wire.FuncAttachment:  hostAttachment,
	wire.FuncProgress:    hostProgress,
}
