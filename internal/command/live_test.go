package command

import (
	"context"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

// held returns a turn whose tool waits until the test closes let.
func held(t *testing.T, answer string) (tn *deployment, began, let chan struct{}) {
	t.Helper()
	r, err := registry.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	began, let = make(chan struct{}, 1), make(chan struct{})
	err = r.Register(sallyport.Tool{Name: "wait", Description: "Waits.", Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		began <- struct{}{}
		<-let
		return sallyport.OK(answer), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return &deployment{registry: r}, began, let
}

// A running call ends in the configuration in which it began; the next call
// uses the new one.
func TestACallEndsInItsTurn(t *testing.T) {
	first, began, let := held(t, "first")
	second, began2, let2 := held(t, "second")
	l := newLive(first)
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}}
	call := func() sallyport.Result {
		return l.Call(t.Context(), caller, sallyport.Request{Tool: "wait"})
	}
	one := make(chan sallyport.Result)
	go func() { one <- call() }()
	<-began
	if before := l.swapDeployment(second, func() {}); before != first {
		t.Fatal("exchange returned another turn than the one before")
	}
	select {
	case <-first.idle:
		t.Fatal("the turn is over while a call runs in it")
	default:
	}
	two := make(chan sallyport.Result)
	go func() { two <- call() }()
	<-began2
	close(let)
	if res := <-one; res.Value != "first" {
		t.Errorf("the call that ran answered %+v", res)
	}
	<-first.idle
	close(let2)
	if res := <-two; res.Value != "second" {
		t.Errorf("the call after the exchange answered %+v", res)
	}
	l.swapDeployment(first, func() {})
	<-second.idle
}
