/** What runs take: as past ones tell, and as is expected of those to come. */
@NullMarked
package io.pipelane.switcher.schedule.estimate;

import org.jspecify.annotations.NullMarked;
