package app

import (
	"fmt"
	"strings"

	"github.com/sallyport/sallyport/registry"
)

// keyOfTool returns the key of the configuration that a built-in tool needs, or all tools of
// a label, and an example; empty for what needs none.
func keyOfTool(name string) (key, example string) {
	switch name {
	case "@mail":
		name = "email-send"
	case "@database":
		name = "db-query"
	case "@skill":
		name = "get_skill"
	}
	switch name {
	case "web_search":
		return "search", "search: {service: brave}"
	case "get_skill":
		return "skills", "skills: ./skills"
	case "db-query":
		return "databases", "databases: {analytics: {url_secret: db/analytics, driver: postgres}}"
	case "db-write":
		return "databases", "databases: {analytics: {url_secret: db/analytics, driver: postgres, write: true}}"
	case "email-send":
		return "mail", "mail: {default: {host: smtp.example.com:587, user_secret: mail/user, password_secret: mail/password, from: agent@example.com}}"
	default:
		return "", ""
	}
}

// explainUnconfigured says which key of the configuration makes a built-in tool possible;
// the zero MissingTool for any other name.
func explainUnconfigured(name string) registry.MissingTool {
	key, example := keyOfTool(name)
	if key == "" {
		return registry.MissingTool{}
	}
	what := "is a built-in tool that needs"
	if strings.HasPrefix(name, "@") {
		what = "is the label of built-in tools that need"
	}
	return registry.MissingTool{
		Tool: name, Why: fmt.Sprintf("%s %s the key %s, which is not in the configuration", name, what, key),
		Fix: fmt.Sprintf("add `%s` to the configuration, with what fits here", example),
	}
}
