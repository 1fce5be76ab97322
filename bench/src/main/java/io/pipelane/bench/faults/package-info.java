/** What faults of worker processes cost the requests of a server. */
@NullMarked
package io.pipelane.bench.faults;

import org.jspecify.annotations.NullMarked;
