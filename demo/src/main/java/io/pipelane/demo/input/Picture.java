package io.pipelane.demo.input;

import java.io.IOException;
import java.io.InputStream;

/** A grey picture; needs no fonts and no display. Immutable. */
public final class Picture {
  private final int width;
  private final int height;

  /** Rows from the top; 0 is black, 255 is white. */
  private final float[] grey;

  /**
   * A picture of given pixels.
   *
   * @param grey rows from the top, 0 is black and 255 is white; not copied, no longer to be written
   */
  public Picture(int width, int height, float[] grey) {
    if (grey.length != width * height) {
      throw new IllegalArgumentException(
          width + " x " + height + " pixels wanted, got " + grey.length);
    }
    this.width = width;
    this.height = height;
    this.grey = grey;
  }

  public int width() {
    return width;
  }

  public int height() {
    return height;
  }

  /**
   * Reads a PNG file of 8 bits of grey a pixel, not interlaced.
   *
   * @throws IOException when it is not one
   */
  public static Picture read(InputStream file) throws IOException {
    return GreyPng.read(file);
  }

  /** The part inside a rectangle. */
  public Picture crop(Rectangle part) {
    float[] cropped = new float[part.width() * part.height()];
    for (int y = 0; y < part.height(); y++) {
      System.arraycopy(
          grey, (part.y() + y) * width + part.x(), cropped, y * part.width(), part.width());
    }
    return new Picture(part.width(), part.height(), cropped);
  }

  /** The picture upside down: turned by 180 degrees. */
  public Picture turned() {
    float[] turned = new float[grey.length];
    for (int i = 0; i < grey.length; i++) {
      turned[grey.length - 1 - i] = grey[i];
    }
    return new Picture(width, height, turned);
  }

  /** The picture stretched to another size, by bilinear interpolation between pixel centres. */
  public Picture resized(int newWidth, int newHeight) {
    float[] resized = new float[newWidth * newHeight];
    for (int y = 0; y < newHeight; y++) {
      float sourceY = source(y, newHeight, height);
      int top = (int) sourceY;
      int bottom = Math.min(top + 1, height - 1);
      for (int x = 0; x < newWidth; x++) {
        float sourceX = source(x, newWidth, width);
        int left = (int) sourceX;
        int right = Math.min(left + 1, width - 1);
        float above = mix(at(left, top), at(right, top), sourceX - left);
        float below = mix(at(left, bottom), at(right, bottom), sourceX - left);
        resized[y * newWidth + x] = mix(above, below, sourceY - top);
      }
    }
    return new Picture(newWidth, newHeight, resized);
  }

  /**
   * The pixels as three equal colour planes, each normalised as {@code (grey / 255 - mean[c]) /
   * deviation[c]}.
   */
  public float[] planes(float[] mean, float[] deviation) {
    float[] planes = new float[3 * grey.length];
    for (int channel = 0; channel < 3; channel++) {
      for (int i = 0; i < grey.length; i++) {
        planes[channel * grey.length + i] = (grey[i] / 255 - mean[channel]) / deviation[channel];
      }
    }
    return planes;
  }

  /** The pixel at a place, counted from the top left corner. */
  public float at(int x, int y) {
    return grey[y * width + x];
  }

  private static float source(int position, int size, int sourceSize) {
    float centre = (position + 0.5f) * sourceSize / size - 0.5f;
    return Math.clamp(centre, 0, sourceSize - 1);
  }

  private static float mix(float a, float b, float share) {
    return a + (b - a) * share;
  }
}
