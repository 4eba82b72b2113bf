// Package safekeeping stores and removes the values of secrets.
//
// Start with [SetSecret] and [RemoveSecret], which are what the commands secrets
// set and secrets rm do. Values come in by [ReadValue] and go nowhere but into
// the store.
package safekeeping
