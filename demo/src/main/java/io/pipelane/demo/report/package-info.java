/** The report that the demo prints. */
@NullMarked
package io.pipelane.demo.report;

import org.jspecify.annotations.NullMarked;
