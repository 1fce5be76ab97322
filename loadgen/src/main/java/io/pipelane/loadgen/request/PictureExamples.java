package io.pipelane.loadgen.request;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.imageio.ImageIO;

/**
 * Examples made of pictures, in every form that the JDK reads. A picture is stretched to the
 * model's size where it or a shape asked for names one. Its colours are one or three planes in
 * front of or behind the pixels.
 */
final class PictureExamples {
  private static final Set<String> ENDINGS = Set.of("png", "jpg", "jpeg", "gif", "bmp");
  private static final long MAXIMUM_ELEMENTS = 1 << 26;

  private final Map<String, List<Long>> shapes;
  private final Pixels pixels;

  PictureExamples(Map<String, List<Long>> shapes, Pixels pixels) {
    this.shapes = shapes;
    this.pixels = pixels;
  }

  static boolean isPicture(Path file) {
    return ENDINGS.contains(ExampleFiles.ending(file));
  }

  /**
   * An example of one picture, repeated where a batch is asked for.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when the model does not take pictures
   */
  Example read(ModelMetadata model, Path file) throws IOException {
    BufferedImage picture = ImageIO.read(file.toFile());
    if (picture == null) {
      throw new IOException("it is no picture of a known form");
    }
    TensorMetadata input = model.inputs().getFirst();
    List<Long> declared = InputShapes.asked(shapes, model.name(), input);
    int colourAxis = colourAxis(declared);
    if (model.inputs().size() != 1 || colourAxis < 0) {
      throw unfit(model, "wants one input with a batch, one or three colours, height and width");
    }
    int heightAxis = colourAxis == 1 ? 2 : 1;
    List<Long> shape = new ArrayList<>(declared);
    shape.set(0, Math.max(1, declared.getFirst()));
    setWhereOpen(shape, heightAxis, picture.getHeight());
    setWhereOpen(shape, heightAxis + 1, picture.getWidth());
    if (TensorValue.elements(shape) > MAXIMUM_ELEMENTS) {
      throw unfit(model, "gets " + shape + ", more than " + MAXIMUM_ELEMENTS + " numbers");
    }
    BufferedImage sized =
        stretched(picture, shape.get(heightAxis + 1).intValue(), shape.get(heightAxis).intValue());
    TensorValue value =
        new TensorValue(
            input.name(), Datatype.of(input), shape, data(model, input, sized, shape, colourAxis));
    return new Example(List.of(InputShapes.requireFit(model.name(), input, value)), List.of());
  }

  /** Which of the axes of a picture holds the colours; -1 when it is no picture's shape. */
  private static int colourAxis(List<Long> shape) {
    if (shape.size() != 4) {
      return -1;
    }
    for (int axis : new int[] {1, 3}) {
      if (shape.get(axis) == 3 || shape.get(axis) == 1) {
        return axis;
      }
    }
    return -1;
  }

  private static void setWhereOpen(List<Long> shape, int axis, int size) {
    if (shape.get(axis) < 0) {
      shape.set(axis, (long) size);
    }
  }

  private static BufferedImage stretched(BufferedImage picture, int width, int height) {
    BufferedImage sized = new BufferedImage(width, height, BufferedImage.TYPE_INT_RGB);
    Graphics2D canvas = sized.createGraphics();
    canvas.setRenderingHint(
        RenderingHints.KEY_INTERPOLATION, RenderingHints.VALUE_INTERPOLATION_BILINEAR);
    canvas.drawImage(picture, 0, 0, width, height, null);
    canvas.dispose();
    return sized;
  }

  private ByteBuffer data(
      ModelMetadata model,
      TensorMetadata input,
      BufferedImage picture,
      List<Long> shape,
      int colourAxis) {
    Datatype type = Datatype.of(input);
    int colours = shape.get(colourAxis).intValue();
    int area = picture.getWidth() * picture.getHeight();
    int[] rgb =
        picture.getRGB(0, 0, picture.getWidth(), picture.getHeight(), null, 0, picture.getWidth());
    ByteBuffer to =
        ByteBuffer.allocate(Math.toIntExact(TensorValue.elements(shape) * type.width()))
            .order(ByteOrder.LITTLE_ENDIAN);
    for (long copy = 0; copy < shape.getFirst(); copy++) {
      for (int i = 0; i < colours * area; i++) {
        int colour = colourAxis == 1 ? i / area : i % colours;
        int pixel = rgb[colourAxis == 1 ? i % area : i / colours];
        put(model, to, type, colour, brightness(pixel, colour, colours));
      }
    }
    return to.flip();
  }

  /** Of one colour, or of all together by their shares in what is seen (ITU-R BT.601). */
  private static int brightness(int rgb, int colour, int colours) {
    int red = rgb >> 16 & 0xFF;
    int green = rgb >> 8 & 0xFF;
    int blue = rgb & 0xFF;
    if (colours == 1) {
      return (299 * red + 587 * green + 114 * blue + 500) / 1000;
    }
    return colour == 0 ? red : colour == 1 ? green : blue;
  }

  private void put(ModelMetadata model, ByteBuffer to, Datatype type, int colour, int brightness) {
    switch (type) {
      case UINT8 -> to.put((byte) brightness);
      case FP32 -> to.putFloat(pixels.value(colour, brightness));
      case FP16 -> to.putShort(Float.floatToFloat16(pixels.value(colour, brightness)));
      case BOOL, INT8, INT16, INT32, INT64, UINT16, UINT32, UINT64, BF16, FP64, BYTES ->
          throw unfit(model, "wants " + type + ", not FP32, FP16 or UINT8");
    }
  }

  private static StatusException unfit(ModelMetadata model, String why) {
    return new StatusException(
        Status.INVALID_ARGUMENT,
        "--input-data: pictures do not fit model \"" + model.name() + "\": it " + why);
  }
}
