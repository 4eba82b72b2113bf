package guest

import "unsafe"

//go:wasmimport sallyport read
//go:noescape
func hostRead(to unsafe.Pointer, length uint32) uint32

//go:wasmimport sallyport answer
//go:noescape
func hostAnswer(from unsafe.Pointer, length uint32)

// room is where the message of a call is read, and where its answer is written. An
// instance runs one call at a time.
var room struct{ message, answer []byte }

// mostRoom bounds what is kept of them between calls.
const mostRoom = 64 << 10

// readCall reads the message of a call, which stays as it is until the next one.
func readCall() []byte {
	if cap(room.message) < 4096 || cap(room.message) > mostRoom {
		room.message = make([]byte, 4096)
	}
	b := room.message[:cap(room.message)]
	for n := uint32(0); ; {
		n += hostRead(unsafe.Pointer(&b[n]), uint32(len(b))-n)
		if room.message = b; n < uint32(len(b)) {
			return b[:n]
		}
		b = append(b, make([]byte, len(b))...)
	}
}

// readMessage reads a pending message of a length.
func readMessage(length uint32) []byte {
	b := make([]byte, length)
	for n := uint32(0); n < length; {
		read := hostRead(unsafe.Pointer(&b[n]), length-n)
		if n += read; read == 0 {
			return b[:n]
		}
	}
	return b
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
func exportCall() {
	answer, err := callHost(askHost, readCall(), room.answer[:0])
	if room.answer = answer; cap(answer) > mostRoom {
		room.answer = nil
	}
	answerOrPanic(answer, err)
}

// askHost calls the host's function of this name.
func askHost(function string, message []byte) []byte {
	at, length := unsafe.Pointer(unsafe.SliceData(message)), uint32(len(message))
	return readMessage(imported[function](at, length))
}
