// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// again divides the Lease's duration: an unchanged report is assembled again after duration/again.
const again = 3

// Proof says which clusters' reports are kept, by the results of their assemblies. It has no clock
// and makes no request: the simulation lists its clusters by it too.
type Proof struct {
	duration time.Duration
	started  time.Time
	kept     map[types.NamespacedName]time.Time // last good assembly's start; absent after a failure
	failed   map[types.NamespacedName]error     // the last failure, until the next success
	renewed  time.Time                          // last renewal without an error
}

// NewProof returns the proof of a process that leads since started. An assembly counts for
// duration.
func NewProof(duration time.Duration, started time.Time) *Proof {
	return &Proof{duration: duration, started: started, kept: map[types.NamespacedName]time.Time{},
		failed: map[types.NamespacedName]error{}}
}

// Assembled records the result of one assembly of a cluster's reports; began is when it began to
// read. A nil error means that all reports were written or found equal.
func (p *Proof) Assembled(key types.NamespacedName, began time.Time, err error) {
	if err != nil {
		delete(p.kept, key)
		p.failed[key] = err
		return
	}
	p.kept[key] = began
	delete(p.failed, key)
}

// Of returns the clusters of keys whose reports are kept, for the Lease to list, and the clusters
// due for another assembly. Error: no reports are kept.
func (p *Proof) Of(keys []types.NamespacedName, now time.Time) (proven, due []types.NamespacedName, err error) {
	wanted := map[types.NamespacedName]bool{}
	var missing []types.NamespacedName
	for _, key := range keys {
		wanted[key] = true
		began, ok := p.kept[key]
		if ok = ok && now.Sub(began) < p.duration; ok {
			proven = append(proven, key)
		} else {
			missing = append(missing, key)
		}
		if !ok || now.Sub(began) >= p.duration/again {
			due = append(due, key)
		}
	}
	forget := func(key types.NamespacedName) bool { return !wanted[key] }
	maps.DeleteFunc(p.kept, func(key types.NamespacedName, _ time.Time) bool { return forget(key) })
	maps.DeleteFunc(p.failed, func(key types.NamespacedName, _ error) bool { return forget(key) })

	if len(missing) > 0 && len(proven) == 0 {
		err = fmt.Errorf("the reports of all %d clusters are out of date: %w", len(keys), p.why(missing[0]))
	}
	return proven, due, err
}

// why returns the last failure of a cluster.
func (p *Proof) why(key types.NamespacedName) error {
	if err := p.failed[key]; err != nil {
		return fmt.Errorf("cluster %s: %w", key, err)
	}
	return fmt.Errorf("cluster %s: not assembled for %s", key, p.duration)
}

// Renewed records a renewal of the Lease for which Of returned no error.
func (p *Proof) Renewed(now time.Time) { p.renewed = now }

// Silent is how long no reports are proven to be kept, from the start if they never were.
func (p *Proof) Silent(now time.Time) time.Duration {
	if p.renewed.Before(p.started) {
		return now.Sub(p.started)
	}
	return now.Sub(p.renewed)
}
