package file

import (
	"context"
	"errors"
	"io/fs"

	"github.com/sallyport/sallyport"
)

// accessError turns an error of the file accessor into one whose text may be
// shown. A coded one stays as it is; of anything else only the system's own
// words remain, because the rest may name paths of the runtime.
func accessError(operation, name string, err error) error {
	if e, ok := errors.AsType[*sallyport.Error](err); ok {
		return e
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return sallyport.FileNotFound(name)
	}
	detail := "cannot " + operation + " " + name
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		detail += ": " + pe.Err.Error()
	}
	return &sallyport.Error{
		Code: sallyport.CodeExecutionFailed, Resource: name, Operation: operation, Detail: detail, Err: err,
	}
}

// directoryError explains that a directory was given where a file is needed.
func directoryError(name string) error {
	return sallyport.InputInvalid(name + " is a directory, not a file; list_files shows what is in it")
}
