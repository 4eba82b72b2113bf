package safekeeping

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"golang.org/x/term"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/secretstore"
	"github.com/sallyport/sallyport/internal/text"
)

// maxValue bounds a value, as the stores do, with the line ending that is cut.
const maxValue = 64<<10 + 2

// ReadValue reads a value: from a terminal without showing what is typed, else
// all of the input. One line ending at the end is cut.
func ReadValue(ctx context.Context, in io.Reader, prompts io.Writer, ref string) (sallyport.Secret, error) {
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		text, err := ReadHidden(ctx, f, prompts, "Value of "+ref+" (not shown): ")
		return sallyport.NewSecret(text), err
	}
	typed, err := io.ReadAll(io.LimitReader(in, maxValue+1))
	if err != nil {
		return sallyport.Secret{}, fmt.Errorf("standard input: %w", err)
	}
	if len(typed) > maxValue {
		return sallyport.Secret{}, fmt.Errorf("the value is larger than %d bytes", maxValue-2)
	}
	return sallyport.NewSecret(text.CutLineEnd(string(typed))), nil
}

// AskTerminal asks at the terminal of the process for a text, and does not show
// it. Standard input may hold something else.
func AskTerminal(ctx context.Context, prompt string) (string, error) {
	name := "/dev/tty"
	if runtime.GOOS == "windows" {
		name = "CONIN$"
	}
	terminal, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return "", secretstore.ErrLocked
	}
	defer terminal.Close()
	return ReadHidden(ctx, terminal, os.Stderr, prompt)
}

// ReadHidden reads a line from a terminal without showing it. The terminal is as
// before when ctx ends.
func ReadHidden(ctx context.Context, terminal *os.File, prompts io.Writer, prompt string) (string, error) {
	fd := int(terminal.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	type line struct {
		text []byte
		err  error
	}
	read := make(chan line, 1)
	fmt.Fprint(prompts, prompt)
	// A read of a terminal cannot be ended: when ctx ends, it is left to the end
	// of the process.
	go func() {
		text, err := term.ReadPassword(fd)
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		fmt.Fprintln(prompts)
		if errors.Is(l.err, io.EOF) {
			return "", errors.New("no text was typed")
		}
		return string(l.text), l.err
	case <-ctx.Done():
		fmt.Fprintln(prompts)
		return "", errors.Join(ctx.Err(), term.Restore(fd, before))
	}
}
