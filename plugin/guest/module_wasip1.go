package guest

import "unsafe"

//go:wasmimport sallyport read
//go:noescape
func hostRead(to unsafe.Pointer, length uint32) uint32

//go:wasmimport sallyport answer
//go:noescape
func hostAnswer(from unsafe.Pointer, length uint32)

// readMessage reads a pending message of a known length; with 0 it reads all there is.
func readMessage(length uint32) []byte {
	b := make([]byte, max(length, 4096))
	for n := uint32(0); ; {
		n += hostRead(unsafe.Pointer(&b[n]), uint32(len(b))-n)
		if n < uint32(len(b)) || n == length {
			return b[:n]
		}
		b = append(b, make([]byte, len(b))...)
	}
}

// answerOrPanic hands the answer to the host. What cannot be answered ends the module,
// and the host writes down why.
func answerOrPanic(answer []byte, err error) {
	if err != nil {
		panic(err)
	}
	hostAnswer(unsafe.Pointer(unsafe.SliceData(answer)), uint32(len(answer)))
}

//go:wasmexport sallyport_tools
func exportTools() { answerOrPanic(listDefinitions()) }

//go:wasmexport sallyport_call
func exportCall() { answerOrPanic(callHost(askHost, readMessage(0))) }

// askHost calls the host's function of this name.
func askHost(function string, message []byte) []byte {
	at, length := unsafe.Pointer(unsafe.SliceData(message)), uint32(len(message))
	return readMessage(imported[function](at, length))
}
