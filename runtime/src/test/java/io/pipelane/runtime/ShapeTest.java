package io.pipelane.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class ShapeTest {
  @Test
  void elements_ofConcreteShape_isProduct() {
    assertEquals(24, Shape.of(2, 3, 4).elements());
    assertEquals(1, Shape.SCALAR.elements());
    assertEquals(0, Shape.of(0, 7).elements());
  }

  @Test
  void elements_overflowing_throws() {
    assertThrows(ArithmeticException.class, () -> Shape.of(1L << 40, 1L << 40).elements());
    assertThrows(ArithmeticException.class, () -> Shape.of(2, -1).elements());
  }

  @Test
  void admits_openDimension_acceptsAnySize() {
    assertTrue(Shape.of(-1, 3).admits(Shape.of(9, 3)));
    assertFalse(Shape.of(-1, 3).admits(Shape.of(9, 4)));
    assertFalse(Shape.of(-1, 3).admits(Shape.of(9)));
  }
}
