/** Profiles of workloads, taken before they share a device. */
@NullMarked
package io.pipelane.cluster.profile;

import org.jspecify.annotations.NullMarked;
