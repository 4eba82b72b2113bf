// Command program is sallyport as the tests start it: it looks for changes more
// often.
package main

import (
	"time"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/command"
)

func main() {
	const pause = 50 * time.Millisecond
	command.MainEvery(app.Intervals{Poll: pause, Attend: pause, Places: pause})
}
