/** What a resident model feels of others that load. */
@NullMarked
package io.pipelane.bench.loads;

import org.jspecify.annotations.NullMarked;
