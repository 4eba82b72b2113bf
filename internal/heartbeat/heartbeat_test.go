package heartbeat_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/heartbeat"
)

func TestALongCallIsToldAboutAndAShortOneIsNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []string
		c := &sallyport.Call{Emit: func(p sallyport.Progress) {
			if p.Audience != sallyport.AudienceUser {
				t.Errorf("told %+v, want it for the user", p)
			}
			told = append(told, p.Message)
		}}
		stop := heartbeat.Start(c, "running a", nil)
		time.Sleep(time.Second)
		stop()
		time.Sleep(time.Minute)
		if len(told) != 0 {
			t.Errorf("a short call told %q", told)
		}
		stop = heartbeat.Start(c, "running b", func() string { return "line 3" })
		time.Sleep(8 * time.Second)
		stop()
		time.Sleep(time.Minute)
		if got := strings.Join(told, "; "); got != "running b, 2s so far: line 3; running b, 7s so far: line 3" {
			t.Errorf("a long call told %q", got)
		}
		told = nil
		stop = heartbeat.Start(c, "running c", nil)
		time.Sleep(time.Hour)
		if stop(); len(told) != 100 {
			t.Errorf("an endless call told %d times, want 100", len(told))
		}
	})
}
