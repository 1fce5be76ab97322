package io.pipelane.switcher.kept;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.util.Set;

/**
 * The receiver of what a request's run leaves on the device for later ones. Called by the thread
 * that runs the request.
 */
public interface Keeper {
  /**
   * The models that read an output later; none for one that is not to stay.
   *
   * @param device where it would stay
   */
  Set<ModelVersion> readers(String device, String output);

  /** Whether outputs are cut apart by the host before they are anybody's, and so go there. */
  default boolean isCutApart() {
    return false;
  }

  /**
   * Takes over the memory that an output is about to be written to, which its handler is not asked
   * for then. The run may still fail, or be made again and leave the output elsewhere: the later
   * place counts, of this method's and of the handler's.
   */
  void keep(String output, TensorType type, Shape shape, KeptTensor tensor);
}
