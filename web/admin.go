package web

import (
	"fmt"
	"net/http"
)

// pauseHandler stops or resumes arrivals: of the target that the query names, of all without one. pause's error says that there is no such
// target.
func pauseHandler(pause func(target string, paused bool) error, paused bool) http.Handler {
	word := "resumed"
	if paused {
		word = "paused"
	}
	// A page of somebody else in the browser of an operator must not stop the canary.
	return http.NewCrossOriginProtection().Handler(noStore(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		target := r.URL.Query().Get("target")
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if err := pause(target, paused); err != nil {
			w.WriteHeader(http.StatusNotFound)
			write(w, []byte(err.Error()+"\n"))
			return
		}
		if target == "" {
			target = "all targets"
		}
		write(w, fmt.Appendf(nil, "%s %s\n", word, target))
	})))
}
