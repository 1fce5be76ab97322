package io.pipelane.loadgen.request;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.loadgen.file.FilesRead;
import io.pipelane.loadgen.settings.ModelRequests;
import io.pipelane.loadgen.settings.PreparedRequest;
import io.pipelane.loadgen.settings.ResponseCheck;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The generator of requests for models from what a server says about them. One thread at a time.
 */
public final class RequestGenerator {
  private static final ByteSize MAXIMUM_BODY = ByteSize.ofMebibytes(256);
  private static final ByteSize MAXIMUM_TOTAL = ByteSize.ofMebibytes(1024);

  private final RequestEncoder encoder;
  private final InputSettings settings;
  private final FilesRead read;
  private final SplittableRandom random;
  private final List<List<List<TensorValue>>> expected = new ArrayList<>();
  private final List<Double> rows = new ArrayList<>();
  private long totalBytes;

  /** A generator whose requests depend on the settings and the order of models only. */
  public RequestGenerator(InputSettings settings) {
    this(settings, new FilesRead());
  }

  /**
   * A generator that also tells which files it reads.
   *
   * @param read is told of every file that the settings' examples are read from
   */
  public RequestGenerator(InputSettings settings, FilesRead read) {
    this.settings = settings;
    this.read = read;
    this.encoder = new RequestEncoder(settings.binaryOutputs(), settings.parameters());
    this.random = new SplittableRandom(settings.seed());
  }

  /** Makes the requests of a model with the settings' batch. */
  public ModelRequests generate(ModelMetadata model) {
    return generate(model, List.of(settings.batch()));
  }

  /**
   * Makes the requests that a model is asked again and again: one of made-up values for each batch,
   * or one for each example where there are files.
   *
   * @param batches size of the first dimension where it is open; 0 leaves it to the shapes
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when a shape that was asked for or a
   *     file does not fit the model, {@link Status#TOO_LARGE} above 256 MiB a request or 1 GiB for
   *     all models
   */
  public ModelRequests generate(ModelMetadata model, List<Integer> batches) {
    List<List<TensorValue>> outputs = new ArrayList<>();
    List<PreparedRequest> requests = new ArrayList<>();
    List<Long> requestRows = new ArrayList<>();
    examples(model, batches)
        .forEach(
            example -> {
              outputs.add(example.expected());
              requestRows.add(InputShapes.rows(model, example.inputs()));
              requests.add(counted(model, request(model, example)));
            });
    expected.add(outputs);
    rows.add(requestRows.stream().mapToLong(count -> count).average().orElse(1));
    return switch (settings.format()) {
      case BINARY, JSON, GRPC -> ModelRequests.infer(model.name(), model.version(), requests);
      case DJL -> ModelRequests.prediction(model.name(), model.version(), requests);
    };
  }

  /**
   * Rows of a request, on the average of those made so far.
   *
   * @param shares of the requests that each model gets, in the order in which they were made
   */
  public double rowsPerRequest(double[] shares) {
    return IntStream.range(0, shares.length).mapToDouble(i -> shares[i] * rows.get(i)).sum();
  }

  /**
   * Compares answers with the outputs that the examples of all models made so far expect.
   *
   * @param tolerance how far numbers may be off, as a share of the tensor's size
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when no example expects anything
   */
  public ResponseCheck check(double tolerance) {
    if (expected.stream().flatMap(List::stream).allMatch(List::isEmpty)) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "--check-outputs: the files of --input-data expect no outputs; add \"validation_data\" or"
              + " a folder named expected");
    }
    ExpectedOutputs.Reader reader =
        switch (settings.format()) {
          case BINARY, JSON -> new HttpAnswers();
          case GRPC -> GrpcMessages::outputs;
          case DJL ->
              throw new StatusException(
                  Status.UNIMPLEMENTED, "--check-outputs needs a server that speaks the protocol");
        };
    return new ExpectedOutputs(List.copyOf(expected), tolerance, reader);
  }

  /** Those that are made up are made one by one. */
  private Stream<Example> examples(ModelMetadata model, List<Integer> batches) {
    if (settings.files() != null) {
      return new ExampleFiles(settings.files(), settings.shapes(), read).read(model).stream();
    }
    ElementGenerator elements = new ElementGenerator(settings, random.split());
    return batches.stream().map(batch -> made(model, elements, batch));
  }

  private PreparedRequest counted(ModelMetadata model, PreparedRequest request) {
    totalBytes += request.body().remaining();
    if (totalBytes > MAXIMUM_TOTAL.bytes()) {
      throw new StatusException(
          Status.TOO_LARGE,
          "the requests up to those for \"%s\" are larger than %s; ask fewer models, batches or"
                  .formatted(model.name(), MAXIMUM_TOTAL)
              + " examples");
    }
    return request;
  }

  private PreparedRequest request(ModelMetadata model, Example example) {
    return switch (settings.format()) {
      case BINARY -> encoder.binary(example.inputs());
      case JSON -> encoder.json(example.inputs());
      case GRPC -> GrpcMessages.request(model, example.inputs(), settings.parameters());
      case DJL -> NumpyArchive.request(example.inputs());
    };
  }

  private Example made(ModelMetadata model, ElementGenerator elements, int batch) {
    List<TensorValue> inputs = new ArrayList<>();
    long total = 0;
    for (TensorMetadata tensor : model.inputs()) {
      List<Long> shape = InputShapes.concrete(settings.shapes(), model.name(), tensor, batch);
      Datatype type = Datatype.of(tensor);
      try {
        long count = TensorValue.elements(shape);
        long bytes = elements.bytes(type, count);
        total = Math.addExact(total, bytes);
        if (total > MAXIMUM_BODY.bytes()) {
          throw tooLarge(model, tensor, shape);
        }
        ByteBuffer data = ByteBuffer.allocate((int) bytes).order(ByteOrder.LITTLE_ENDIAN);
        elements.fill(data, tensor.name(), type, count);
        inputs.add(new TensorValue(tensor.name(), type, shape, data.flip()));
      } catch (ArithmeticException e) {
        throw tooLarge(model, tensor, shape);
      }
    }
    return new Example(inputs, List.of());
  }

  private static StatusException tooLarge(
      ModelMetadata model, TensorMetadata tensor, List<Long> shape) {
    return new StatusException(
        Status.TOO_LARGE,
        "a request for \"%s\" with input \"%s\" of shape %s is larger than %s; use smaller --shape"
            .formatted(model.name(), tensor.name(), shape, MAXIMUM_BODY));
  }
}
