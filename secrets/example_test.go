package secrets_test

import (
	"context"
	"fmt"

	"github.com/sallyport/sallyport/secrets"
)

func ExampleNewEnv() {
	env, err := secrets.NewEnv("SALLYPORT_SECRET_", []string{
		"HOME=/home/me", "SALLYPORT_SECRET_PROVIDERS_OPENWEATHER_APIKEY=correct horse",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	key, ok, err := secrets.NewChain(env).Secret(context.Background(), "providers/openweather/apiKey")
	fmt.Println(key, ok, err)
	// Output: [redacted] true <nil>
}
