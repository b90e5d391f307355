// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// Names of the checks, in the order in which they are made.
const (
	CheckRequest      = "request"       // label and annotations of the request can be read
	CheckHostID       = "host-id"       // the member's host ID is recorded
	CheckBootstrapped = "bootstrapped"  // the node has joined once; else there is nothing to replace
	CheckMember       = "member"        // peers list it as a normal member
	CheckDown         = "down"          // DOWN in a majority of fresh rows, UP in none
	CheckNotAlive     = "not-alive"     // by its own word and Kubernetes' too
	CheckAttempt      = "attempt-ended" // only for --resume: the failed attempt is over
	CheckIgnoreList   = "ignore-list"   // the ignored nodes are members and dead
	CheckRows         = "rows-fresh"    // every other node says whom it sees
	CheckOthersUp     = "others-up"     // all others see each other UP
	CheckQuorum       = "quorum"        // a majority of the members is alive
	CheckNoOperation  = "no-operation"  // no other topology operation under way
	CheckVersion      = "version"       // which procedure the version supports
	CheckAddress      = "address"       // only by address: it is known and nobody else's
	CheckPlace        = "place"         // same datacenter and rack
	CheckStatefulSet  = "statefulset"   // somebody makes the new Pod and its volume
	CheckLauncher     = "launcher"      // the new Pod gets the replace argument
)

// unskippable checks guard against losing data or the original host ID; no flag overrules them.
var unskippable = []string{CheckRequest, CheckHostID, CheckDown, CheckIgnoreList, CheckAddress}

// CheckNames lists the checks that --skip-check takes.
func CheckNames() []string {
	return []string{
		CheckBootstrapped, CheckMember, CheckNotAlive, CheckAttempt, CheckRows, CheckOthersUp, CheckQuorum, CheckNoOperation,
		CheckVersion, CheckPlace, CheckStatefulSet, CheckLauncher,
	}
}

// verification is what verify found.
type verification struct {
	checks    []Check
	procedure Procedure
	address   string
}

func (v verification) blocked() bool { return slices.ContainsFunc(v.checks, Check.Blocks) }

func (v verification) blockers() []Check {
	var out []Check
	for _, c := range v.checks {
		if c.Blocks() {
			out = append(out, c)
		}
	}
	return out
}

// verify makes all checks for replacing target. resume is set for an attempt after a failed one, whose newcomer is then not held against it.
func verify(in *Input, rec Record, target string, resume bool) verification {
	newcomer := ""
	if resume {
		newcomer = newcomerID(in, target)
	}
	v := newView(in, target, newcomer, rec.IgnoreDead)
	var out verification
	out.procedure = ByHostID
	if rec.Open() {
		out.procedure = rec.Procedure()
	} else if in.ByHostID == SupportNo {
		out.procedure = ByAddress
	}

	add := func(c Check) {
		c.Skippable = !slices.Contains(unskippable, c.Name)
		c.Skipped = c.Result != OK && c.Skippable && slices.Contains(rec.SkipChecks, c.Name)
		out.checks = append(out.checks, c)
	}
	add(checkRequest(in, rec))
	hostID := checkHostID(in, rec, target)
	add(hostID)
	if hostID.Result != OK {
		// Everything else is about this host ID.
		return out
	}
	member := v.checkMember(resume)
	add(v.checkBootstrapped(member))
	add(member)
	add(v.checkDown())
	add(v.checkNotAlive())
	if resume {
		add(v.checkAttempt())
	}
	if len(rec.IgnoreDead) > 0 {
		add(v.checkIgnoreList(rec))
	}
	add(v.checkRows())
	add(v.checkOthersUp())
	add(v.checkQuorum())
	add(v.checkNoOperation(rec))
	add(checkVersion(in, out.procedure, rec.Open()))
	if out.procedure == ByAddress {
		var c Check
		c, out.address = checkAddress(in, rec)
		add(c)
	}
	add(v.checkPlace())
	add(checkStatefulSet(in))
	add(checkLauncher(in))
	return out
}

func checkRequest(in *Input, rec Record) Check {
	c := Check{Name: CheckRequest, Result: OK, Evidence: "label and annotations of the request are readable"}
	if rec.Requested && rec.Value != "" {
		if _, ok := rec.Address(); !ok {
			c.Result = Failed
			c.Evidence = fmt.Sprintf("label %s=%q is neither empty nor an IP address", api.LabelReplace, rec.Value)
			c.Cure = fmt.Sprintf("set it to the empty value: kubectl label --overwrite service %s %s= -n %s",
				in.Self.Member, api.LabelReplace, in.Namespace)
			return c
		}
	}
	for _, name := range rec.SkipChecks {
		if slices.Contains(CheckNames(), name) {
			continue
		}
		c.Result = Failed
		if slices.Contains(unskippable, name) {
			c.Evidence = fmt.Sprintf("annotation %s names check %q, which cannot be skipped", api.AnnotationReplaceSkipChecks, name)
		} else {
			c.Evidence = fmt.Sprintf("annotation %s names check %q, which does not exist", api.AnnotationReplaceSkipChecks, name)
		}
		c.Cure = "the checks that can be skipped are " + strings.Join(CheckNames(), ", ")
		return c
	}
	if len(rec.Problems) > 0 {
		c.Result, c.Evidence = Failed, strings.Join(rec.Problems, "; ")
		c.Cure = fmt.Sprintf("correct or remove it on service %s/%s", in.Namespace, in.Self.Member)
	}
	return c
}

func checkHostID(in *Input, rec Record, target string) Check {
	c := Check{Name: CheckHostID}
	if rec.HasOriginal {
		if rec.OriginalError != "" {
			c.Result, c.Evidence = Failed, rec.OriginalError
			c.Cure = fmt.Sprintf("find the dead node's host ID in `kubectl scylla status -n %s` and give it: "+
				"kubectl scylla replace --resume %s --host-id HOSTID -n %s", in.Namespace, in.Self.Member, in.Namespace)
			return c
		}
		c.Result, c.Evidence = OK, fmt.Sprintf("original host ID %s is recorded on service %s", target, in.Self.Member)
		return c
	}
	if _, err := ParseHostID(in.Self.HostID); err != nil {
		c.Result = Failed
		if in.Self.HostID == "" {
			c.Evidence = fmt.Sprintf("service %s has no annotation %s, so nobody knows which node it was", in.Self.Member, api.AnnotationHostID)
		} else {
			c.Evidence = fmt.Sprintf("annotation %s=%q of service %s %v", api.AnnotationHostID, in.Self.HostID, in.Self.Member, err)
		}
		c.Cure = "a node that never had a host ID never joined: delete its PVC and Pod and let it join anew"
		return c
	}
	c.Result, c.Evidence = OK, fmt.Sprintf("service %s records host ID %s", in.Self.Member, target)
	return c
}

func (v *view) checkBootstrapped(member Check) Check {
	c := Check{Name: CheckBootstrapped}
	switch {
	case v.in.Joined != nil && *v.in.Joined:
		c.Result, c.Evidence = OK, fmt.Sprintf("%s has joined (annotation %s)", v.name(v.target), api.AnnotationNodeJoined)
	case v.in.Joined != nil && member.Result == OK:
		// The annotation follows the newest process; the peers' list follows the cluster.
		c.Result, c.Evidence = OK, fmt.Sprintf("%s is a member in its peers' rows", v.name(v.target))
	case v.in.Joined != nil:
		c.Result = Failed
		c.Evidence = fmt.Sprintf("%s never joined (annotation %s=false): its volume never bootstrapped", v.name(v.target), api.AnnotationNodeJoined)
		c.Cure = fmt.Sprintf("do not replace it; delete its PVC and Pod %s and let it join anew", v.in.Self.Member)
	case member.Result == OK:
		c.Result, c.Evidence = OK, fmt.Sprintf("%s is a member in its peers' rows", v.name(v.target))
	default:
		c.Result = Unknown
		c.Evidence = fmt.Sprintf("service %s has no annotation %s and no peer confirms that the node joined", v.in.Self.Member, api.AnnotationNodeJoined)
		c.Cure = "if it never joined, delete its PVC and Pod and let it join anew; a replacement is for nodes that had data"
	}
	return c
}

func (v *view) checkMember(resume bool) Check {
	c := Check{Name: CheckMember}
	t := v.tally(v.target)
	var odd []string
	for _, s := range []matrix.State{
		matrix.StateJoining, matrix.StateLeaving, matrix.StateReplacing, matrix.StateBeingReplaced, matrix.StateDecommissioned,
	} {
		if s == matrix.StateBeingReplaced && resume {
			continue // the failed attempt may still show; check attempt-ended judges it
		}
		if by := t.states[s]; len(by) > 0 {
			odd = append(odd, fmt.Sprintf("%s %s %s as %s", and(by), verb(by, "lists", "list"), v.name(v.target), stateName(s)))
		}
	}
	switch {
	case t.total() == 0:
		c.Result, c.Evidence = Unknown, "no other node has a fresh row, so nobody can say whether it is a member"
		c.Cure = "see `kubectl scylla status` for why rows are missing"
	case t.listing() == 0:
		c.Result = Failed
		c.Evidence = fmt.Sprintf("%s %s host ID %s: it is no member of the cluster", and(t.missing),
			verb(t.missing, "does not list", "do not list"), v.target)
		c.Cure = "ScyllaDB would answer that the replaced node is not found; if it was removed already, delete the PVC and Pod and let the node join anew"
	case len(odd) > 0:
		c.Result, c.Evidence = Failed, strings.Join(odd, "; ")
		c.Cure = "only a normal member can be replaced; wait until its operation has ended"
	case len(t.missing) > 0:
		c.Result = Unknown
		c.Evidence = fmt.Sprintf("%s %s it as a member, %s not", and(concat(t.up, t.down, t.unknown)),
			verb(concat(t.up, t.down, t.unknown), "lists", "list"), and(t.missing)+" "+verb(t.missing, "does", "do"))
		c.Cure = "the nodes disagree about who is a member; wait until they agree"
	default:
		c.Result = OK
		c.Evidence = fmt.Sprintf("%d of %d fresh rows list %s as a normal member", t.listing(), t.total(), v.name(v.target))
	}
	return c
}

// checkDown: invariant 5. Only fresh rows of other members count; the ignored have no say.
func (v *view) checkDown() Check {
	c := Check{Name: CheckDown}
	t := v.tally(v.target)
	n := t.total()
	name := v.name(v.target)
	switch {
	case n == 0:
		c.Result, c.Evidence = Unknown, fmt.Sprintf("no other node has a fresh row: nobody sees whether %s is down", name)
		c.Cure = "see `kubectl scylla status` for why rows are missing"
	case len(t.up) > 0:
		c.Result, c.Evidence = Failed, fmt.Sprintf("%s %s %s UP", and(t.up), verb(t.up, "sees", "see"), name)
		c.Cure = "a node that is alive cannot be replaced; decommission it, or wait until every node sees it DOWN"
	case len(t.down)*2 <= n:
		c.Result = Unknown
		c.Evidence = fmt.Sprintf("%d of %d fresh rows see %s DOWN, which is no majority", len(t.down), n, name)
		if len(t.unknown) > 0 {
			c.Evidence += fmt.Sprintf("; %s cannot say (the address may be shared with a live node)", and(t.unknown))
		}
		if len(t.missing) > 0 {
			c.Evidence += fmt.Sprintf("; %s %s list it", and(t.missing), verb(t.missing, "does not", "do not"))
		}
		c.Cure = "wait until a majority sees it DOWN"
	default:
		c.Result = OK
		c.Evidence = fmt.Sprintf("%s %s %s DOWN (%d of %d fresh rows), none UP", and(t.down), verb(t.down, "sees", "see"), name, len(t.down), n)
	}
	return c
}

func (v *view) checkNotAlive() Check {
	c := Check{Name: CheckNotAlive, Result: OK}
	p := v.in.Pod
	switch {
	case p == nil:
		c.Evidence = "the Pod does not exist"
	case p.Ready && !p.Deleting:
		c.Result, c.Evidence = Failed, fmt.Sprintf("Pod %s is Ready: ScyllaDB serves on it, whatever its peers see", p.Name)
		c.Cure = "a node that runs is cut off, not dead; repair the network, or stop it first if its data is to be given up"
	default:
		c.Evidence = fmt.Sprintf("Pod %s is not Ready", p.Name)
	}
	return c
}

func (v *view) checkAttempt() Check {
	c := Check{Name: CheckAttempt, Result: OK}
	if v.newcomer == "" {
		c.Evidence = "no newcomer of an earlier attempt is known"
		return c
	}
	for _, op := range v.in.Operations {
		if norm(op.HostID) == v.newcomer && operationOpen(op) {
			c.Result, c.Evidence = Failed, fmt.Sprintf("ScyllaDB still works on %q of %s", op.Type, short(v.newcomer))
			c.Cure = "wait until it ends; nothing has failed yet"
			return c
		}
	}
	t := v.tally(v.newcomer)
	if by := t.states[matrix.StateReplacing]; len(by) > 0 {
		c.Result, c.Evidence = Failed, fmt.Sprintf("%s %s newcomer %s as replacing: the attempt is under way", and(by), verb(by, "lists", "list"), short(v.newcomer))
		c.Cure = "wait until it ends; nothing has failed yet"
		return c
	}
	if p := v.in.Pod; p != nil && p.HostID == v.newcomer && p.OwnsTokens != nil && *p.OwnsTokens {
		c.Result, c.Evidence = Failed, fmt.Sprintf("newcomer %s owns tokens: it has joined", short(v.newcomer))
		c.Cure = "the replacement goes on by itself; see `kubectl scylla replace --status`"
		return c
	}
	if by := t.states[matrix.StateNormal]; len(by) > 0 {
		c.Result, c.Evidence = Unknown, fmt.Sprintf("%s %s newcomer %s as a member", and(by), verb(by, "lists", "list"), short(v.newcomer))
		c.Cure = "it may have joined; see `kubectl scylla status`"
		return c
	}
	c.Evidence = fmt.Sprintf("newcomer %s of the earlier attempt is no member", short(v.newcomer))
	return c
}

func (v *view) checkIgnoreList(rec Record) Check {
	c := Check{Name: CheckIgnoreList, Result: OK}
	seen := map[string]bool{}
	var good []string
	for _, raw := range rec.IgnoreDead {
		id, err := ParseHostID(raw)
		if err != nil {
			c.Result, c.Evidence = Failed, fmt.Sprintf("%q in the ignore list %v", raw, err)
			c.Cure = "list host IDs, separated by commas; `kubectl scylla status -o wide` shows them"
			return c
		}
		if id == v.target {
			c.Result, c.Evidence = Failed, fmt.Sprintf("%s is in the ignore list and is itself to be replaced", v.name(id))
			c.Cure = "take it from the ignore list"
			return c
		}
		if seen[id] {
			continue
		}
		seen[id] = true
		t := v.tally(id)
		switch {
		case len(t.up) > 0:
			c.Result, c.Evidence = Failed, fmt.Sprintf("%s %s ignored node %s UP", and(t.up), verb(t.up, "sees", "see"), v.name(id))
			c.Cure = "a live node cannot be ignored; it would be banned from the cluster for ever"
			return c
		case t.total() > 0 && t.listing() == 0:
			c.Result, c.Evidence = Failed, fmt.Sprintf("no row lists ignored node %s: it is no member", v.name(id))
			c.Cure = "take it from the ignore list"
			return c
		case len(t.down)*2 <= t.total():
			c.Result = Unknown
			c.Evidence = fmt.Sprintf("%d of %d fresh rows see ignored node %s DOWN, which is no majority", len(t.down), t.total(), v.name(id))
			c.Cure = "wait until a majority sees it DOWN"
			return c
		}
		good = append(good, v.name(id))
	}
	c.Evidence = fmt.Sprintf("%s %s DOWN and will be ignored, and banned with the replaced node", and(good), verb(good, "is", "are"))
	return c
}

// expected are the nodes that must speak: members by their Services and everybody whom a fresh row lists.
func (v *view) expected() []string {
	ids := map[string]bool{}
	for _, id := range v.listed {
		ids[id] = true
	}
	for _, o := range v.in.Others {
		id := norm(o.HostID)
		if id == "" || id == v.target || id == v.newcomer || v.ignored[id] {
			continue
		}
		if o.Joined == nil || *o.Joined {
			ids[id] = true
		}
	}
	out := make([]string, 0, len(ids))
	for id := range ids {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

func (v *view) checkRows() Check {
	c := Check{Name: CheckRows}
	byID := map[string]witness{}
	for _, w := range v.rows {
		if old, ok := byID[w.id]; !ok || !old.fresh {
			byID[w.id] = w
		}
	}
	var missing []string
	for _, id := range v.expected() {
		w, ok := byID[id]
		switch {
		case !ok:
			missing = append(missing, v.name(id)+" has no row")
		case !w.fresh:
			missing = append(missing, v.name(id)+" "+w.why)
		}
	}
	for _, w := range v.rows {
		if w.id == "" {
			missing = append(missing, w.label+" has no host ID")
		}
	}
	for _, dc := range v.in.NotVerified {
		missing = append(missing, "the nodes of datacenter "+dc+" cannot be asked from here")
	}
	if len(v.fresh()) == 0 && len(missing) == 0 {
		missing = append(missing, "no other node has a row")
	}
	if len(missing) > 0 {
		c.Result, c.Evidence = Unknown, semicolons(missing)
		c.Cure = "wait for the rows; or, if these nodes are dead too, name them with --ignore-dead"
		return c
	}
	c.Result, c.Evidence = OK, fmt.Sprintf("all %d other nodes have a fresh row", len(v.expected()))
	if len(v.expected()) == 1 {
		c.Evidence = "the other node has a fresh row"
	}
	return c
}

func (v *view) checkOthersUp() Check {
	c := Check{Name: CheckOthersUp, Result: OK}
	expected := v.expected()
	var down, unsure []string
	for _, id := range expected {
		t := v.tally(id)
		if len(t.down) > 0 {
			down = append(down, fmt.Sprintf("%s %s %s DOWN", and(t.down), verb(t.down, "sees", "see"), v.name(id)))
		} else if rest := concat(t.unknown, t.missing); len(rest) > 0 {
			unsure = append(unsure, fmt.Sprintf("%s %s not say that %s is UP", and(rest), verb(rest, "does", "do"), v.name(id)))
		}
	}
	switch {
	case len(down) > 0:
		c.Result, c.Evidence = Failed, semicolons(append(down, unsure...))
		c.Cure = "bring these nodes back; if they are dead for good, name them with --ignore-dead"
	case len(unsure) > 0:
		c.Result, c.Evidence = Unknown, semicolons(unsure)
		c.Cure = "wait until every node sees every other one UP"
	case len(v.fresh()) == 0:
		c.Result, c.Evidence = Unknown, "no other node has a fresh row"
		c.Cure = "see `kubectl scylla status` for why rows are missing"
	default:
		c.Evidence = fmt.Sprintf("all %d other nodes are UP in every fresh row", len(expected))
		if len(expected) == 1 {
			c.Evidence = "the other node is UP"
		}
	}
	return c
}

// checkQuorum: the request is a write of group 0, which needs a majority of its voters. Since 2025.2 not every node votes, hence
// the check can be wrong either way and can be skipped.
func (v *view) checkQuorum() Check {
	c := Check{Name: CheckQuorum}
	expected := v.expected()
	up := 0
	for _, id := range expected {
		t := v.tally(id)
		if len(t.down)*2 <= t.total() {
			up++
		}
	}
	total := len(expected) + 1 + len(v.ignored)
	switch {
	case len(v.fresh()) == 0:
		c.Result, c.Evidence = Unknown, "no other node has a fresh row"
		c.Cure = "see `kubectl scylla status` for why rows are missing"
	case up*2 > total:
		c.Result, c.Evidence = OK, fmt.Sprintf("%d of %d members are alive", up, total)
	default:
		c.Result, c.Evidence = Failed, fmt.Sprintf("only %d of %d members are alive, which is no majority", up, total)
		c.Cure = "ScyllaDB cannot change its topology without a majority; bring nodes back first"
	}
	return c
}

func operationOpen(op api.NodeOperation) bool { return op.State == "created" || op.State == "running" }

func (v *view) checkNoOperation(rec Record) Check {
	c := Check{Name: CheckNoOperation}
	var found []string
	for _, o := range v.in.Others {
		if o.Replacing != "" && !laterThan(o, v.in, rec) {
			found = append(found, fmt.Sprintf("%s is being replaced (%s)", o.Member, o.Replacing))
		}
		if o.Decommissioning {
			found = append(found, fmt.Sprintf("%s is being decommissioned (label %s=false)", refName(o.Ref), api.LabelDecommissioned))
		}
	}
	if v.in.Service.Labels[api.LabelDecommissioned] != "" {
		found = append(found, fmt.Sprintf("%s itself is being decommissioned (label %s=%s)", v.in.Self.Member,
			api.LabelDecommissioned, v.in.Service.Labels[api.LabelDecommissioned]))
	}
	for _, op := range v.in.Operations {
		id := norm(op.HostID)
		if !operationOpen(op) || id == v.newcomer && id != "" {
			continue
		}
		found = append(found, fmt.Sprintf("ScyllaDB works on %q of %s", op.Type, v.name(id)))
	}
	seen := map[string]bool{}
	for _, w := range v.rows {
		if !w.fresh {
			continue
		}
		for id, cell := range w.cells {
			if cell.state == matrix.StateNormal || cell.state == matrix.StateDecommissioned || id == v.newcomer ||
				id == v.target || seen[id] {
				continue
			}
			seen[id] = true
			found = append(found, fmt.Sprintf("%s is %s", v.name(id), stateName(cell.state)))
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	switch {
	case len(found) > 0:
		c.Result, c.Evidence = Failed, semicolons(found)
		c.Cure = "ScyllaDB changes its topology one step at a time; wait until this has ended"
	case !v.in.OperationsKnown:
		c.Result, c.Evidence = Unknown, "no node could be asked for open topology operations"
		c.Cure = "look yourself (nodetool status, nodetool tasks list node_ops) and go on with --skip-check=" + CheckNoOperation
	default:
		c.Result, c.Evidence = OK, "no replacement, join, decommission or removenode is under way"
	}
	return c
}

// laterThan reports whether the other's replacement must wait for ours instead of the other way round: both were accepted, neither has
// deleted anything, and ours was first.
func laterThan(o Other, in *Input, rec Record) bool {
	if rec.Accepted == "" || o.ReplacingDeleted {
		return false
	}
	if !o.ReplacingSince.Equal(rec.StartedAt) {
		return o.ReplacingSince.After(rec.StartedAt)
	}
	return o.Member > in.Self.Member
}

func checkVersion(in *Input, p Procedure, open bool) Check {
	c := Check{Name: CheckVersion}
	switch {
	case in.ByHostID == SupportYes && p == ByHostID:
		c.Result, c.Evidence = OK, fmt.Sprintf("ScyllaDB %s replaces by host ID", in.Version)
	case in.ByHostID == SupportNo && p == ByAddress:
		c.Result, c.Evidence = OK, fmt.Sprintf("ScyllaDB %s cannot replace by host ID; the deprecated procedure by address is used", in.Version)
	case in.ByHostID == SupportUnknown:
		c.Result = Unknown
		c.Evidence = "the ScyllaDB version is not known"
		if in.VersionDetail != "" {
			c.Evidence += ": " + in.VersionDetail
		}
		c.Cure = "use an image tag with a full version (5.2.0, 2025.2.1); or go on by host ID with --skip-check=" + CheckVersion
	case open:
		c.Result = Failed
		c.Evidence = fmt.Sprintf("the replacement was begun by %s, which ScyllaDB %s does not fit", p, in.Version)
		c.Cure = "go back to the image with which it was begun"
	default:
		c.Result, c.Evidence = Failed, fmt.Sprintf("ScyllaDB %s cannot replace by %s", in.Version, p)
	}
	return c
}

// checkAddress returns the address to replace. It is recorded before the Pod goes, because afterwards another Pod may get it.
func checkAddress(in *Input, rec Record) (Check, string) {
	c := Check{Name: CheckAddress}
	cluster, _ := netip.ParseAddr(in.Service.ClusterIP) // "None" for a headless Service
	addr, ok := rec.Address()
	if given, err := netip.ParseAddr(addr); ok && err == nil && cluster.IsValid() && given != cluster.Unmap() {
		c.Result = Failed
		c.Evidence = fmt.Sprintf("label %s=%s is not the address of %s, which is %s", api.LabelReplace, addr, in.Self.Member, cluster)
		c.Cure = fmt.Sprintf("set it to the empty value: kubectl label --overwrite service %s %s= -n %s", in.Self.Member, api.LabelReplace, in.Namespace)
		return c, ""
	}
	if !ok {
		switch {
		case cluster.IsValid():
			addr = cluster.String()
		case in.Pod != nil:
			addr = in.Pod.IP
		}
	}
	parsed, err := netip.ParseAddr(addr)
	if err != nil {
		c.Result = Unknown
		c.Evidence = fmt.Sprintf("the address of %s is not known: its Service has no ClusterIP and its Pod no IP", in.Self.Member)
		c.Cure = fmt.Sprintf("give it: kubectl label --overwrite service %s %s=ADDRESS -n %s", in.Self.Member, api.LabelReplace, in.Namespace)
		return c, ""
	}
	parsed = parsed.Unmap()
	if parsed.Is6() {
		c.Result, c.Evidence = Failed, fmt.Sprintf("address %s is IPv6, which a label cannot hold", parsed)
		c.Cure = "upgrade to ScyllaDB 5.2 or later, which replaces by host ID"
		return c, ""
	}
	for _, o := range in.Others {
		for _, a := range o.Addresses {
			if other, err := netip.ParseAddr(a); err == nil && other.Unmap() == parsed {
				c.Result, c.Evidence = Failed, fmt.Sprintf("address %s now belongs to %s", parsed, refName(o.Ref))
				c.Cure = "the dead node cannot be named by its address any more; use removenode with its host ID, then let the member join anew"
				return c, ""
			}
		}
	}
	c.Result, c.Evidence = OK, fmt.Sprintf("%s had address %s, which no other member has", in.Self.Member, parsed)
	return c, parsed.String()
}

func (v *view) checkPlace() Check {
	c := Check{Name: CheckPlace}
	s := v.in.Self
	if s.Datacenter == "" || s.Rack == "" {
		c.Result, c.Evidence = Unknown, fmt.Sprintf("service %s lacks label %s or %s", s.Member, api.LabelDatacenter, api.LabelRack)
		c.Cure = "a replacement must come up in the same datacenter and rack; label the Service"
		return c
	}
	for _, r := range v.in.Rows {
		if norm(r.Reporter.HostID) != v.target || r.Reporter.Datacenter == "" && r.Reporter.Rack == "" {
			continue
		}
		if r.Reporter.Datacenter != s.Datacenter || r.Reporter.Rack != s.Rack {
			c.Result = Failed
			c.Evidence = fmt.Sprintf("the dead node was in %s/%s, its member is in %s/%s", r.Reporter.Datacenter, r.Reporter.Rack, s.Datacenter, s.Rack)
			c.Cure = "a replacement must come up in the same datacenter and rack; correct the labels"
			return c
		}
	}
	if ss := v.in.StatefulSet; ss != nil && (ss.Datacenter != "" && ss.Datacenter != s.Datacenter || ss.Rack != "" && ss.Rack != s.Rack) {
		c.Result = Failed
		c.Evidence = fmt.Sprintf("StatefulSet %s is in %s/%s, its member in %s/%s", ss.Name, ss.Datacenter, ss.Rack, s.Datacenter, s.Rack)
		c.Cure = "a replacement must come up in the same datacenter and rack; correct the labels"
		return c
	}
	c.Result, c.Evidence = OK, fmt.Sprintf("the new node comes up in %s/%s as the old one", s.Datacenter, s.Rack)
	return c
}

func checkStatefulSet(in *Input) Check {
	c := Check{Name: CheckStatefulSet, Result: Failed, Cure: "somebody must make the new Pod and its volume before the old ones go"}
	ss := in.StatefulSet
	switch {
	case ss == nil:
		c.Result, c.Evidence = Unknown, fmt.Sprintf("the StatefulSet of %s was not found", in.Self.Member)
	case ss.Deleting:
		c.Evidence = fmt.Sprintf("StatefulSet %s is being deleted", ss.Name)
	case in.Self.Ordinal == nil:
		c.Result, c.Evidence = Unknown, fmt.Sprintf("the ordinal of %s is not known", in.Self.Member)
	case *in.Self.Ordinal < ss.First || *in.Self.Ordinal >= ss.First+ss.Replicas:
		c.Evidence = fmt.Sprintf("StatefulSet %s has %d replicas, so it will not make %s again", ss.Name, ss.Replicas, in.Self.Member)
		c.Cure = "this member was scaled away; remove its node with removenode instead"
	case len(ss.ClaimTemplates) == 0:
		c.Evidence = fmt.Sprintf("StatefulSet %s has no volume claim template: there is no volume to exchange", ss.Name)
		c.Cure = "a replacement needs an empty data directory"
	case in.Pod != nil && !in.Pod.Owned:
		c.Evidence = fmt.Sprintf("Pod %s is not controlled by StatefulSet %s", in.Pod.Name, ss.Name)
		c.Cure = "delete or rename the foreign Pod"
	default:
		c.Result, c.Cure = OK, ""
		c.Evidence = fmt.Sprintf("StatefulSet %s makes Pod %s and its volume anew", ss.Name, in.Self.Member)
	}
	return c
}

func checkLauncher(in *Input) Check {
	c := Check{Name: CheckLauncher}
	support, name := SupportUnknown, ""
	if in.StatefulSet != nil {
		support, name = in.StatefulSet.Launcher, in.StatefulSet.Name
	}
	switch support {
	case SupportYes:
		c.Result, c.Evidence = OK, fmt.Sprintf("StatefulSet %s starts ScyllaDB through the launcher, which adds the replace argument", name)
	case SupportNo:
		c.Result = Failed
		c.Evidence = fmt.Sprintf("StatefulSet %s starts ScyllaDB without `scylla-agent launch`: the new node would join as a plain new one", name)
		c.Cure = "start ScyllaDB through `scylla-agent launch --` (docs/examples/demo.yaml shows how), roll that out, then replace"
	default:
		c.Result, c.Evidence = Unknown, "nobody knows how the new Pod gets the replace argument"
		c.Cure = "see that its ScyllaDB container starts through `scylla-agent launch`"
	}
	return c
}

func stateName(s matrix.State) string {
	switch s {
	case matrix.StateNormal:
		return "NORMAL"
	case matrix.StateJoining:
		return "JOINING"
	case matrix.StateLeaving:
		return "LEAVING"
	case matrix.StateReplacing:
		return "REPLACING"
	case matrix.StateBeingReplaced:
		return "BEING_REPLACED"
	case matrix.StateDecommissioned:
		return "DECOMMISSIONED"
	}
	return "in a state that is not known"
}

// semicolons lists at most six facts.
func semicolons(facts []string) string {
	const most = 6
	if len(facts) > most {
		return strings.Join(facts[:most-1], "; ") + fmt.Sprintf("; and %d more", len(facts)-most+1)
	}
	return strings.Join(facts, "; ")
}

func concat(lists ...[]string) []string { return slices.Concat(lists...) }

// stamp is the one spelling of times in annotations.
func stamp(t time.Time) string { return t.UTC().Truncate(time.Second).Format(time.RFC3339) }
