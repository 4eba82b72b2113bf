package httpapi_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/sallyport/sallyport"
)

// TestEachClientSeesItsOwnAnswerOnly lets many clients of some principals send
// equal requests, but for a nonce, at once.
func TestEachClientSeesItsOwnAnswerOnly(t *testing.T) {
	const clients, principals = 2000, 20
	k := newKit(t, nil)
	for i := range principals {
		name := fmt.Sprintf("p%d", i)
		k.tokens[name] = sallyport.Principal{Name: name, Personalities: []string{"reader"}}
	}
	k.site.Client().Transport = pooled(t, 200)
	var mu sync.Mutex
	calls := map[string]bool{}
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() {
			name, nonce := fmt.Sprintf("p%d", i%principals), fmt.Sprintf("nonce-%d", i)
			headers := []string{"Authorization", "Bearer " + name}
			if i%3 == 0 {
				headers = append(headers, asStream...)
			}
			got := k.execute("whoami", `{"session":"1","params":{"id":1,"nonce":"`+nonce+`"}}`, headers...)
			id, err := identityOf(got)
			if err != nil || id.Principal != name || id.Session != name+"/1" || id.Args != `{"id":1,"nonce":"`+nonce+`"}` {
				t.Errorf("client %d of %s got %d %s", i, name, got.status, got.text)
				return
			}
			if e := k.record.outcome(t, id.Call); e.Principal != name {
				t.Errorf("the call of %s is recorded as one of %s", name, e.Principal)
			}
			mu.Lock()
			defer mu.Unlock()
			if calls[id.Call] {
				t.Errorf("two clients got the call %s", id.Call)
			}
			calls[id.Call] = true
		})
	}
	group.Wait()
	if len(calls) != clients {
		t.Errorf("%d calls, want %d", len(calls), clients)
	}
}
