package registry

// The defaults of options and one bound, for tests of the package from outside.
const (
	DefaultApprovalExpiry  = defaultApprovalExpiry
	DefaultBudget          = defaultBudget
	DefaultParallel        = defaultParallel
	DefaultStructuredBytes = defaultStructuredBytes
	MaxResources           = maxResources
	MaxRoleLists           = maxRoleLists
)

// Walks returns how often a listing walked the whole table.
func Walks(r *Registry) int64 { return r.lists.walks.Load() }

// Listed returns how many lists of roles are kept.
func Listed(r *Registry) int {
	r.lists.mu.Lock()
	defer r.lists.mu.Unlock()
	return len(r.lists.kept)
}
