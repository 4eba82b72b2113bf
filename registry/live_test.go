package registry_test

import (
	"context"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway"
	"github.com/sallyport/sallyport/httpapi"
	"github.com/sallyport/sallyport/registry"
)

// Both servers take the registry in force instead of a registry.
var (
	_ gateway.Gate = (*registry.Live)(nil)
	_ httpapi.Gate = (*registry.Live)(nil)
)

// newWaitingRegistry returns a registry whose tool "wait" sends to began and
// answers when the test closes end.
func newWaitingRegistry(t *testing.T, o *registry.Options, answer string) (r *registry.Registry, began, end chan struct{}) {
	t.Helper()
	r, err := registry.New(nil, o)
	if err != nil {
		t.Fatal(err)
	}
	began, end = make(chan struct{}, 1), make(chan struct{})
	err = r.Register(sallyport.Tool{Name: "wait", Description: "Waits.", Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		began <- struct{}{}
		<-end
		return sallyport.OK(answer), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return r, began, end
}

// isClosed reports whether a channel is closed, without waiting.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestACallEndsInTheRegistryInWhichItBegan(t *testing.T) {
	t.Parallel()
	first, firstBegan, endFirst := newWaitingRegistry(t, nil, "first")
	second, secondBegan, endSecond := newWaitingRegistry(t, nil, "second")
	live := registry.NewLive(first)
	call := func() sallyport.Result {
		return live.Call(t.Context(), &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}}, sallyport.Request{Tool: "wait"})
	}
	one, two := make(chan sallyport.Result, 1), make(chan sallyport.Result, 1)
	go func() { one <- call() }()
	<-firstBegan
	previous, firstIdle := live.Replace(second, nil)
	if previous != first {
		t.Fatal("Replace returned another registry than the previous one")
	}
	if isClosed(firstIdle) {
		t.Fatal("the previous registry is idle while a call runs in it")
	}
	go func() { two <- call() }()
	<-secondBegan
	close(endFirst)
	if res := <-one; res.Value != "first" {
		t.Errorf("the call that ran answered %+v", res)
	}
	<-firstIdle
	close(endSecond)
	if res := <-two; res.Value != "second" {
		t.Errorf("the call after the exchange answered %+v", res)
	}
	if _, secondIdle := live.Replace(first, nil); !isClosed(secondIdle) {
		t.Error("a registry without users is not idle when it was replaced")
	}
}

func TestAnAcquiredRegistryIsNotIdle(t *testing.T) {
	t.Parallel()
	first, _, _ := newWaitingRegistry(t, nil, "first")
	second, _, _ := newWaitingRegistry(t, nil, "second")
	live := registry.NewLive(first)
	r, release := live.Acquire()
	if r != first {
		t.Fatal("Acquire returned another registry than the one in force")
	}
	_, releaseToo := live.Acquire()
	_, idle := live.Replace(second, nil)
	release()
	release() // releases its own acquisition only
	if isClosed(idle) {
		t.Fatal("the registry is idle although one acquisition is left")
	}
	releaseToo()
	if !isClosed(idle) {
		t.Error("the registry is not idle after the last release")
	}
}

// A caller that was let in by the principals of the new registry must not meet
// the previous one.
func TestReplaceCommitsTogetherWithTheRegistry(t *testing.T) {
	t.Parallel()
	first, _, _ := newWaitingRegistry(t, nil, "first")
	second, _, _ := newWaitingRegistry(t, nil, "second")
	live := registry.NewLive(first)
	acquired := make(chan *registry.Registry, 1)
	live.Replace(second, func() {
		began := make(chan struct{})
		go func() {
			close(began)
			r, release := live.Acquire()
			defer release()
			acquired <- r
		}()
		<-began
		select {
		case <-acquired:
			t.Error("a registry was acquired while the exchange ran")
		case <-time.After(10 * time.Millisecond):
		}
	})
	if r := <-acquired; r != second {
		t.Error("a caller of the new principals met the previous registry")
	}
}

func TestLiveRefreshesItsCallers(t *testing.T) {
	t.Parallel()
	r, err := registry.New(nil, &registry.Options{Refresh: func(_ context.Context, caller *sallyport.Caller) *sallyport.Caller {
		own := *caller
		own.Principal.Permissions = nil // the configuration in force withdraws it
		return &own
	}})
	if err != nil {
		t.Fatal(err)
	}
	err = r.Register(sallyport.Tool{
		Name: "pay", Description: "Pays.", Permissions: []string{"pay"},
		Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK("paid"), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	live := registry.NewLive(r)
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "p", Permissions: []string{"pay"}}}
	q := sallyport.Request{Tool: "pay"}
	if res := live.Call(t.Context(), caller, q); res.Code != sallyport.CodePermissionDenied {
		t.Errorf("Call = %+v, want %s", res, sallyport.CodePermissionDenied)
	}
	if res := live.Batch(t.Context(), caller, []sallyport.Request{q})[0]; res.Code != sallyport.CodePermissionDenied {
		t.Errorf("Batch = %+v, want %s", res, sallyport.CodePermissionDenied)
	}
	x, err := live.Explain(caller, "pay")
	if err != nil {
		t.Fatal(err)
	}
	if last := x.Decisions[len(x.Decisions)-1]; last.Allowed {
		t.Errorf("the last decision is %+v, want a refusal", last)
	}
}
