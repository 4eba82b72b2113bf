package shadow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sallyport/sallyport/internal/setting"
)

// name is the name of the setting with the reports.
const name = "shadow"

// maxReports bounds the reports that are kept. The one that was updated longest
// ago goes first.
const maxReports = 8

// Add adds what was counted to the report of the same two configurations in a state.
// The first one says since when they are compared.
func Add(ctx context.Context, s setting.Store, r *Report) error {
	return setting.Change(ctx, s, name, func(was string, _ bool) (string, error) {
		list, err := decodeReports(was)
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(list, func(have Report) bool { return have.Shadow == r.Shadow && have.InForce == r.InForce })
		if i < 0 {
			i, list = len(list), append(list, Report{Shadow: r.Shadow, InForce: r.InForce, Since: r.Since, Groups: []Group{}})
		}
		list[i].merge(r)
		slices.SortStableFunc(list, func(a, b Report) int { return a.Updated.Compare(b.Updated) })
		text, err := json.Marshal(list[max(0, len(list)-maxReports):])
		return string(text), err
	})
}

// Reports returns the reports that a state has, the one that was updated last at the
// end.
func Reports(ctx context.Context, s setting.Store) ([]Report, error) {
	text, _, err := s.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	return decodeReports(text)
}

func decodeReports(text string) (list []Report, err error) {
	if text == "" {
		return nil, nil
	}
	if err := setting.Decode(text, &list); err != nil {
		return nil, fmt.Errorf("what was counted of shadows cannot be read: %w", err)
	}
	return list, nil
}
