package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/shadow"
)

// FindShadow returns what servers on the state counted of a second configuration: of the
// file, as it is now, or else of the one that was judged last. Where it was judged beside
// several configurations, that is the last of them.
func (rt *Runtime) FindShadow(ctx context.Context, file string) (*shadow.Report, error) {
	list, err := shadow.Reports(ctx, rt.Settings)
	if err != nil {
		return nil, err
	}
	want := ""
	if file != "" {
		if want, err = config.Fingerprint([]string{filepath.Clean(fsx.Absolute(rt.Env.Dir, file))}); err != nil {
			return nil, err
		}
	}
	for i := len(list) - 1; i >= 0; i-- {
		if want == "" || list[i].Shadow == want {
			return &list[i], nil
		}
	}
	if want != "" {
		return nil, fmt.Errorf("%s was not judged as it is now (fingerprint %s): %s", file, want, rt.ShortCommand("serve --shadow "+file))
	}
	return nil, errors.New("no configuration was judged yet: " + rt.ShortCommand("serve --shadow NEW.yaml"))
}
