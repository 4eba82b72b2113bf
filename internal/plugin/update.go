package plugin

import (
	"context"
	"errors"

	"github.com/sallyport/sallyport/internal/plugin/wire"
)

// openUpdate is an update of a file whose new content the module still owes. The file
// stays locked until the module hands it over, gives up, or its run ends.
type openUpdate struct {
	content chan []byte   // the new content
	giveUp  chan struct{} // closed when there is none
	done    chan error    // how the update ended
}

// errGivenUp ends an update without a change.
var errGivenUp = errors.New("the plugin gave the update up")

// beginUpdate locks a file and returns its content.
func beginUpdate(r *run, in wire.File, _ []byte) (any, []byte, error) {
	if r.update != nil {
		return nil, nil, hostFault("a second update before the first one ended")
	}
	u := &openUpdate{content: make(chan []byte, 1), giveUp: make(chan struct{}), done: make(chan error, 1)}
	old := make(chan []byte, 1)
	files, ctx := r.call.FS, r.ctx
	go func() {
		u.done <- files.UpdateFile(in.Name, func(content []byte) ([]byte, error) {
			old <- content
			return u.awaitContent(ctx)
		})
	}()
	select {
	case content := <-old:
		r.update = u
		return nil, content, nil
	case err := <-u.done:
		return nil, nil, err
	}
}

func (u *openUpdate) awaitContent(ctx context.Context) ([]byte, error) {
	select {
	case content := <-u.content:
		return content, nil
	case <-u.giveUp:
		return nil, errGivenUp
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// endUpdate hands the new content of the locked file over, or gives the update up.
func endUpdate(r *run, in wire.Commit, body []byte) (any, []byte, error) {
	if r.update == nil {
		return nil, nil, hostFault("the end of an update that did not begin")
	}
	if !in.Keep {
		r.endUpdate()
		return nil, nil, nil
	}
	u := r.update
	r.update = nil
	u.content <- body
	return nil, nil, <-u.done
}

// endUpdate gives up an update that the module left open, and waits until its file is
// free again.
func (r *run) endUpdate() {
	if u := r.update; u != nil {
		close(u.giveUp)
		<-u.done
		r.update = nil
	}
}
