// Package cgo holds a tool that calls C.
package cgo

import (
	"context"

	"github.com/sallyport/sallyport"
)

// Tool makes the tool.
func Tool() sallyport.Tool {
	return sallyport.Tool{Name: "c", Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		return sallyport.Result{}, callC()
	}}
}
