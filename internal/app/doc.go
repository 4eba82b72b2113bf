// Package app is the program without its commands: the configuration in
// force, the state, the servers of others, and what tools work with.
//
// Start with [OpenForCalls]. A [Runtime] is open for one command; a server
// keeps it and exchanges its [Deployment] when the configuration changes.
package app
