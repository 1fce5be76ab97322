/** Tables for people, JSON for programs, pages for the documentation. */
@NullMarked
package io.pipelane.bench.report;

import org.jspecify.annotations.NullMarked;
