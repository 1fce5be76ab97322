package io.pipelane.demo.input;

/** A part of a picture, in pixels from its top left corner. */
public record Rectangle(int x, int y, int width, int height) {
  public int right() {
    return x + width;
  }

  public int bottom() {
    return y + height;
  }
}
