// SPDX-License-Identifier: Apache-2.0

package beside

import "github.com/kubectl-scylla/kubectl-scylla/internal/words"

// expectation is the expected result of a situation.
type expectation struct {
	theirs, ours Answer
	// reason of the gravest blocker of our barrier.
	reason words.Code
	// status is the exit code of `kubectl scylla status`.
	status int
	// outside is the answer of `kubectl scylla barrier`, and saved its answer for a file, where these differ from our barrier's.
	outside, saved Answer
}

var expectations = map[string]expectation{
	"all UP":                                                                {Opens, Opens, "", 0, "", ""},
	"a node is DOWN":                                                        {Waits, Waits, words.NodeDown, 3, "", ""},
	"two nodes are DOWN":                                                    {Waits, Waits, words.NodeDown, 3, "", ""},
	"one node sees another DOWN":                                            {Waits, Waits, words.NodeDown, 3, "", ""},
	"one node lacks another":                                                {Waits, Waits, words.NodeNotSeen, 3, "", ""},
	"a node does not see itself UP":                                         {Waits, Waits, words.NodeDown, 3, "", ""},
	"a status in lower case":                                                {Waits, Waits, words.NodeUnknown, 3, "", ""},
	"a status that nobody knows":                                            {Waits, Waits, words.NodeUnknown, 3, "", ""},
	"a status is empty":                                                     {Waits, Waits, words.NodeUnknown, 3, "", ""},
	"an annotation is an error":                                             {Waits, Waits, words.RowMissing, 3, "", ""},
	"an annotation is an empty error":                                       {Waits, Waits, words.RowMissing, 3, "", ""},
	"an annotation is an empty object":                                      {Waits, Waits, words.RowMissing, 3, "", ""},
	"an annotation is null":                                                 {Waits, Waits, words.RowMissing, 3, "", ""},
	"an annotation has error and nodes":                                     {Waits, Waits, words.RowMissing, 3, "", ""},
	"an annotation has garbage behind it":                                   {Opens, Waits, words.ReportOutdated, 3, "", ""},
	"a node is listed DOWN and then UP":                                     {Opens, Waits, words.NodeDown, 3, "", ""},
	"a node is listed UP and then DOWN":                                     {Waits, Waits, words.NodeDown, 3, "", ""},
	"a host ID in capitals":                                                 {Waits, Opens, "", 0, "", ""},
	"a joined member has no Pod":                                            {Waits, Waits, words.RowMissing, 3, "", ""},
	"a joined member's Service has no host ID":                              {Waits, Waits, words.RowMissing, 3, "", ""},
	"a joined member's Service has an empty host ID":                        {Waits, Waits, words.RowMissing, 3, "", ""},
	"a joined member's Service has a host ID that is none":                  {Waits, Waits, words.RowMissing, 3, "", ""},
	"two members' Services record one host ID":                              {Waits, Waits, words.HostIDShared, 3, "", ""},
	"a host ID that no member has, UP for all":                              {Waits, Waits, words.RowMissing, 3, "", ""},
	"a host ID that no member has, DOWN for all":                            {Waits, Waits, words.NodeDown, 3, "", ""},
	"a host ID that no member has, for one alone":                           {Waits, Waits, words.RowMissing, 3, "", ""},
	"Services say nothing of joining, as those of 1.21":                     {Opens, Opens, "", 0, "", ""},
	"the newcomer's last host ID is listed UP":                              {Waits, Waits, words.RowMissing, 3, "", ""},
	"the newcomer's last host ID is listed DOWN":                            {Waits, Waits, words.NodeDown, 3, "", ""},
	"the newcomer's last host ID is listed by nobody":                       {Opens, Opens, "", 0, "", ""},
	"another newcomer waits too":                                            {Opens, Opens, "", 0, "", ""},
	"another node joins and is listed UP":                                   {Waits, Waits, words.RowMissing, 3, "", ""},
	"another node joins, its Service says nothing yet":                      {Waits, Waits, words.RowMissing, 3, "", ""},
	"another node joins and is listed DOWN":                                 {Waits, Waits, words.NodeDown, 3, "", ""},
	"another node joins and is not listed yet":                              {Opens, Opens, "", 0, "", ""},
	"another node has joined and has no row yet":                            {Waits, Waits, words.RowMissing, 3, "", ""},
	"a node is being decommissioned":                                        {Waits, Waits, words.RowMissing, 3, "", ""},
	"a node was decommissioned":                                             {Opens, Opens, "", 0, "", ""},
	"a node was removed, its Service is left":                               {Waits, Opens, "", 0, "", ""},
	"a member is under maintenance":                                         {Opens, Opens, "", 0, "", ""},
	"the first node of all":                                                 {Opens, Opens, "", 3, "", ""},
	"the first node of all, an empty report":                                {Opens, Opens, "", 3, "", ""},
	"a second new node while there is none":                                 {Opens, Waits, words.FirstNodePending, 3, "", ""},
	"a second new node, an empty report":                                    {Opens, Waits, words.FirstNodePending, 3, "", ""},
	"the first node of all, lenient flag set":                               {Opens, Waits, words.DatacenterNotVerified, 3, "", ""},
	"the first node of all, its seeds are another cluster's":                {Opens, Waits, words.SeedsOfAnotherCluster, 3, Opens, ""},
	"the report is lost":                                                    {Opens, Waits, words.ReportMissing, 3, "", Opens},
	"the report is another cluster's by its selector":                       {Opens, Waits, words.ReportMissing, 3, "", ""},
	"the report is empty and members have joined":                           {Opens, Waits, words.ReportMissing, 3, "", ""},
	"two datacenters, all UP":                                               {Opens, Opens, "", 0, "", ""},
	"two datacenters, the other's node is DOWN":                             {Waits, Waits, words.NodeDown, 3, "", ""},
	"two datacenters, the other's report is frozen":                         {Waits, Waits, words.NodeDown, 3, "", ""},
	"two datacenters, the other sees a node here DOWN":                      {Waits, Waits, words.NodeDown, 3, "", ""},
	"two datacenters, the other's report is gone, its nodes are UP":         {Opens, Opens, "", 3, "", ""},
	"two datacenters, the other's report is gone, its node is DOWN":         {Waits, Waits, words.NodeDown, 3, "", ""},
	"two datacenters, only one here sees the other's node":                  {Waits, Waits, words.NodeNotSeen, 3, "", ""},
	"two datacenters, the report here is lost":                              {Waits, Waits, words.ReportMissing, 3, "", ""},
	"forced, a node is DOWN":                                                {Opens, Opens, "", 3, "", ""},
	"forced, all UP":                                                        {Opens, Opens, "", 0, "", ""},
	"force has the value True":                                              {Fails, Waits, words.ForceValueInvalid, 0, "", ""},
	"force has the value false":                                             {Fails, Waits, words.ForceValueInvalid, 0, "", ""},
	"force has no value":                                                    {Fails, Waits, words.ForceValueInvalid, 0, "", ""},
	"force has a space before true":                                         {Fails, Waits, words.ForceValueInvalid, 0, "", ""},
	"forced without the label of its rack":                                  {Fails, Opens, "", 0, "", ""},
	"forced, and an annotation cannot be decoded":                           {Opens, Opens, "", 3, "", ""},
	"forced, and it replaces while a node is DOWN":                          {Opens, Opens, "", 3, "", ""},
	"force is wrong, and it replaces":                                       {Fails, Waits, words.ForceValueInvalid, 3, "", ""},
	"no label of its datacenter":                                            {Fails, Waits, words.LabelMissing, 0, "", ""},
	"no label of its rack":                                                  {Fails, Waits, words.LabelMissing, 0, "", ""},
	"an empty label of its datacenter":                                      {Opens, Waits, words.LabelMissing, 0, "", ""},
	"an empty label of its rack":                                            {Opens, Waits, words.LabelMissing, 0, "", ""},
	"the label of another datacenter":                                       {Opens, Opens, "", 0, "", ""},
	"a replacement is asked for, the Pod not evicted yet":                   {Waits, Waits, words.NodeDown, 3, "", ""},
	"a replacement, the replaced node is DOWN":                              {Opens, Opens, "", 3, "", ""},
	"a replacement, another node is DOWN":                                   {Opens, Waits, words.NodeDown, 3, "", ""},
	"a replacement, the replaced node is UP":                                {Opens, Waits, words.ReplacedNodeUp, 3, "", ""},
	"a replacement, one node sees the replaced one UP":                      {Opens, Waits, words.ReplacedNodeUp, 3, "", ""},
	"a replacement, nobody lists the replaced node any more":                {Opens, Opens, "", 0, "", ""},
	"a replacement of nobody: the label is empty":                           {Opens, Waits, words.ReplaceRequestInvalid, 3, "", ""},
	"a replacement of nobody: the label is no host ID":                      {Opens, Waits, words.ReplaceRequestInvalid, 3, "", ""},
	"a replacement of a node that lives elsewhere":                          {Opens, Waits, words.ReplacedNodeUp, 3, unsure, ""},
	"a replacement whose request was taken away":                            {Opens, Opens, "", 3, "", ""},
	"a replacement, the new host ID is recorded":                            {Opens, Opens, "", 3, "", ""},
	"a replacement, no report":                                              {Opens, Waits, words.ReportMissing, 3, "", Opens},
	"a replacement, an annotation is an error":                              {Opens, Waits, words.RowMissing, 3, "", ""},
	"a replacement by its own address alone":                                {Waits, Waits, words.NodeDown, 3, "", ""},
	"a replacement by its own address alone, another node is DOWN":          {Waits, Waits, words.NodeDown, 3, "", ""},
	"a replacement by another node's address":                               {Waits, Waits, words.NodeDown, 3, "", ""},
	"another member is being replaced":                                      {Waits, Waits, words.NodeDown, 3, "", ""},
	"another member's replacement is asked for":                             {Waits, Waits, words.NodeDown, 3, "", ""},
	"another member's replacement has joined, the old node is still listed": {Waits, Waits, words.NodeDown, 3, "", ""},
	"back, its disk says so, a node is DOWN":                                {Opens, Opens, "", 3, unsure, ""},
	"back, its disk says nothing, a node is DOWN":                           {Waits, Opens, "", 3, unsure, ""},
	"back, its disk says nothing, all others UP":                            {Waits, Opens, "", 3, unsure, ""},
	"back with an empty volume":                                             {Waits, Waits, words.NodeDown, 3, unsure, ""},
	"back, its disk says nothing, one row lacks it":                         {Waits, Waits, words.NodeDown, 3, "", ""},
	"back, nobody lists it any more":                                        {Opens, refuses, words.DataDirectoryUnusable, 0, unsure, ""},
	"its join was cut short while a node is DOWN":                           {Waits, Waits, words.NodeDown, 3, "", ""},
	"its disk was decommissioned":                                           {Opens, refuses, words.DataDirectoryUnusable, 0, Opens, ""},
	"its query failed":                                                      {Fails, Opens, "", 0, "", ""},
	"the operator is scaled to 0":                                           {Opens, Waits, words.ControllerSilent, 3, "", ""},
	"no Pod of the operator runs":                                           {Opens, Waits, words.ControllerSilent, 3, "", ""},
	"an annotation says DOWN, the report UP":                                {Opens, Waits, words.NodeDown, 3, "", ""},
	"an annotation says UP, the report DOWN":                                {Waits, Waits, words.NodeDown, 3, "", ""},
	"one annotation cannot be decoded":                                      {Opens, Waits, words.ReportOutdated, 3, "", ""},
	"one annotation cannot be decoded, another says DOWN":                   {Opens, Waits, words.NodeDown, 3, "", ""},
	"an annotation is empty text":                                           {Opens, Waits, words.ReportOutdated, 3, "", ""},
	"the newcomer's own annotation cannot be decoded":                       {Opens, Opens, "", 0, "", ""},
	"an annotation has become an error":                                     {Opens, Waits, words.ReportOutdated, 3, "", ""},
	"a member has joined since the report":                                  {Waits, Waits, words.ReportOutdated, 3, "", ""},
	"a Pod no longer exists since the report":                               {Opens, Waits, words.RowStale, 3, "", ""},
	"a Pod was made anew and says nothing":                                  {Opens, Waits, words.RowStale, 3, "", ""},
	"the operator's Lease is not renewed":                                   {Opens, Waits, words.ControllerSilent, 3, "", ""},
	"the operator runs and renews its Lease":                                {Opens, Opens, "", 0, "", ""},
	"the operator says Degraded":                                            {Opens, Waits, words.OperatorDegraded, 3, "", ""},
	"the operator says AsExpected":                                          {Opens, Opens, "", 0, "", ""},
	"an annotation was written a moment ago and says DOWN":                  {Opens, Waits, words.NodeDown, 3, "", ""},
	"a member's container crashes, its row is left":                         {Opens, Waits, words.RowStale, 3, "", ""},
	"a member's Kubernetes node is lost":                                    {Opens, Waits, words.RowStale, 3, "", ""},
	"a member's Pod is being deleted":                                       {Opens, Waits, words.RowStale, 3, "", ""},
	"a StatefulSet is being rolled":                                         {Opens, Waits, words.RolloutInProgress, 3, "", ""},
	"its image is older than the cluster's":                                 {Opens, Waits, words.VersionTooOld, 0, "", ""},
	"its ScyllaDB ended with exit code 0 before it had joined":              {Opens, Waits, words.VolumeUnreadable, 0, Opens, ""},
}

// difference is why our verdict differs from the operator's, and the situation in the document's words, which several situations may share.
type difference struct{ row, why string }

const (
	rowOff       = "the operator is off, or does not renew its Lease"
	whyOff       = "the report may be out of date"
	rowFrozen    = "one annotation cannot be decoded"
	whyFrozen    = "it stops the whole report"
	rowDiffers   = "an annotation shows DOWN or an error, the report shows UP"
	whyDiffers   = "a report that differs from the Pods opens nothing"
	rowNoReport  = "no report, an empty one, or one with another selector, and the cluster is not new"
	whyNoReport  = "a lost report does not mean a new cluster"
	rowSecond    = "no report, several new members"
	whySecond    = "two first nodes would bootstrap two clusters"
	rowLiving    = "a replacement whose target is UP"
	whyLiving    = "a running node must not be replaced"
	rowLabels    = "labels of datacenter or rack are missing"
	whyVisible   = "a visible blocker; fixing the value is enough"
	rowEmpty     = "labels of datacenter or rack are empty"
	whyEmpty     = "the row of another member would be ignored"
	rowForce     = "force has a value other than `true`"
	rowNobody    = "`replacing-node-hostid` is empty or invalid"
	whyNobody    = "ScyllaDB would start as a plain new node, or not at all"
	rowStale     = "a row whose Pod does not run or is gone, or whose Kubernetes node is lost"
	whyStale     = "the row may be out of date"
	rowRestart   = "joined by its Service and by every fresh row, volume in use, nothing on the disk"
	whyRestart   = "ScyllaDB does not flush its state at once; a wait would keep the node DOWN"
	rowOneUP     = "a replacement while a row is missing"
	whyEverybody = "ScyllaDB bans the target before it cancels"
)

var differences = map[string]difference{
	"an annotation has garbage behind it":     {"an annotation has text after its value", "an unreadable annotation is not trusted"},
	"a node is listed DOWN and then UP":       {"a host ID is listed DOWN and then UP", "no new node starts while a row shows DOWN; the operator uses the last entry"},
	"a host ID in capitals":                   {"a host ID in capitals", "it is the same UUID; the operator compares letters"},
	"a node was removed, its Service is left": {"a node was removed by `nodetool removenode`, and its Service still shows it as joined", "no node lists it; the operator waits indefinitely for its row"},
	"its ScyllaDB ended with exit code 0 before it had joined": {
		"a volume with ScyllaDB's files, and no host ID in it or on the Service", "it may be a copy; ScyllaDB has no guard against two nodes with one host ID",
	},
	"a second new node while there is none":                  {rowSecond, whySecond},
	"a second new node, an empty report":                     {rowSecond, whySecond},
	"the first node of all, lenient flag set":                {"no report, lenient flag set", "another datacenter exists"},
	"the first node of all, its seeds are another cluster's": {"a first node whose seeds are another cluster's", "it would join an unchecked cluster"},
	"the report is lost":                                     {rowNoReport, whyNoReport},
	"the report is another cluster's by its selector":        {rowNoReport, whyNoReport},
	"the report is empty and members have joined":            {rowNoReport, whyNoReport},
	"a replacement, no report":                               {rowNoReport, whyNoReport},
	"force has the value True":                               {rowForce, whyVisible},
	"force has the value false":                              {rowForce, whyVisible},
	"force has no value":                                     {rowForce, whyVisible},
	"force has a space before true":                          {rowForce, whyVisible},
	"force is wrong, and it replaces":                        {rowForce, whyVisible},
	"forced without the label of its rack":                   {"force `true`, labels of datacenter or rack missing", "force is the last resort"},
	"no label of its datacenter":                             {rowLabels, whyVisible},
	"no label of its rack":                                   {rowLabels, whyVisible},
	"an empty label of its datacenter":                       {rowEmpty, whyEmpty},
	"an empty label of its rack":                             {rowEmpty, whyEmpty},
	"a replacement, another node is DOWN":                    {"a replacement while another node is DOWN", whyEverybody},
	"a replacement, an annotation is an error":               {rowOneUP, whyEverybody},
	"a replacement, the replaced node is UP":                 {rowLiving, whyLiving},
	"a replacement, one node sees the replaced one UP":       {rowLiving, whyLiving},
	"a replacement of a node that lives elsewhere":           {rowLiving, whyLiving},
	"a replacement of nobody: the label is empty":            {rowNobody, whyNobody},
	"a replacement of nobody: the label is no host ID":       {rowNobody, whyNobody},
	"back, its disk says nothing, a node is DOWN":            {rowRestart, whyRestart},
	"back, its disk says nothing, all others UP":             {rowRestart, whyRestart},
	"back, nobody lists it any more":                         {"a member on its old volume that no node lists", "its node was removed; ScyllaDB refuses the volume permanently"},
	"its disk was decommissioned":                            {"the data directory was decommissioned", "ScyllaDB refuses it permanently"},
	"its query failed":                                       {"the query of the data directory is unreadable, all nodes are UP", "a new node and a restart are both safe; ours waits while a node is DOWN"},
	"the operator is scaled to 0":                            {rowOff, whyOff},
	"no Pod of the operator runs":                            {rowOff, whyOff},
	"the operator's Lease is not renewed":                    {rowOff, whyOff},
	"the operator says Degraded":                             {"the operator is Degraded", "its report may be out of date"},
	"an annotation says DOWN, the report UP":                 {rowDiffers, whyDiffers},
	"an annotation was written a moment ago and says DOWN":   {rowDiffers, whyDiffers},
	"an annotation has become an error":                      {rowDiffers, whyDiffers},
	"one annotation cannot be decoded":                       {rowFrozen, whyFrozen},
	"one annotation cannot be decoded, another says DOWN":    {rowFrozen, whyFrozen},
	"an annotation is empty text":                            {rowFrozen, whyFrozen},
	"a Pod no longer exists since the report":                {rowStale, whyStale},
	"a Pod was made anew and says nothing":                   {rowStale, whyStale},
	"a member's container crashes, its row is left":          {rowStale, whyStale},
	"a member's Kubernetes node is lost":                     {rowStale, whyStale},
	"a member's Pod is being deleted":                        {rowStale, whyStale},
	"a StatefulSet is being rolled":                          {"a StatefulSet is being rolled", "a restart during a join rolls the join back"},
	"its image is older than the cluster's":                  {"the image of the new node is older than all members", "ScyllaDB bans a node that lacks a feature of the cluster"},
}
