/** Ensembles: chains of models that are asked like one model. */
@NullMarked
package io.pipelane.server.ensemble;

import org.jspecify.annotations.NullMarked;
