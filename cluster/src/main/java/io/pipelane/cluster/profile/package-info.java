/** What is known of workloads before they share a device. */
@NullMarked
package io.pipelane.cluster.profile;

import org.jspecify.annotations.NullMarked;
