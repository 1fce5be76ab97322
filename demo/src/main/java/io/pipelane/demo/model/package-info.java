/** The real models of the demo, and a repository made of them. */
@NullMarked
package io.pipelane.demo.model;

import org.jspecify.annotations.NullMarked;
